/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void hear_change(struct box *b, int fd, enum agent_change_kind kind, const char *path)
{
	struct agent_change change;

	/* Others may come between: a write tells several. */
	do
		HEAR(b, fd, AGENT_CHANGE, agent_change, &change);
	while (change.kind != kind || strcmp(change.path, path) != 0);
}

static int watch(struct box *b, uint32_t flags)
{
	struct agent_path path = beneath(b, "");
	int fd = box_connect(b);

	path.flags |= flags;
	say(b, fd, AGENT_WATCH, agent_path_shape, &path);
	HEAR_EMPTY(b, fd, AGENT_READY);
	return fd;
}

TEST(changes_in_a_folder_are_told)
{
	struct box b = box_start(BOX_PLAIN);
	int fd = watch(&b, 0);

	box_put(&b, "file", "text");
	hear_change(&b, fd, AGENT_CREATED, "file");
	hear_change(&b, fd, AGENT_MODIFIED, "file");
	assert_int_equal(chmod(box_path(&b, "file"), 0600), 0);
	hear_change(&b, fd, AGENT_CHMODDED, "file");
	assert_int_equal(rename(box_path(&b, "file"), box_path(&b, "other")), 0);
	hear_change(&b, fd, AGENT_RENAMED, "file");
	hear_change(&b, fd, AGENT_CREATED, "other");
	assert_int_equal(unlink(box_path(&b, "other")), 0);
	hear_change(&b, fd, AGENT_REMOVED, "other");
	(void)close(fd);
	box_end(&b);
}

TEST(folders_that_appear_are_watched_too)
{
	struct box b = box_start(BOX_PLAIN);
	int fd;

	assert_int_equal(mkdir(box_path(&b, "old"), 0755), 0);
	fd = watch(&b, AGENT_PATH_RECURSIVE);
	box_put(&b, "old/file", "x");
	hear_change(&b, fd, AGENT_CREATED, "old/file");
	assert_int_equal(mkdir(box_path(&b, "new"), 0755), 0);
	assert_int_equal(mkdir(box_path(&b, "new/inner"), 0755), 0);
	hear_change(&b, fd, AGENT_CREATED, "new/inner");
	box_put(&b, "new/inner/file", "x");
	hear_change(&b, fd, AGENT_CREATED, "new/inner/file");
	assert_int_equal(rename(box_path(&b, "new"), box_path(&b, "moved")), 0);
	hear_change(&b, fd, AGENT_CREATED, "moved");
	box_put(&b, "moved/inner/again", "x");
	hear_change(&b, fd, AGENT_CREATED, "moved/inner/again");
	(void)close(fd);
	box_end(&b);
}

TEST(a_file_that_is_replaced_is_told_once_by_its_own_name)
{
	static const struct {
		enum agent_change_kind kind;
		const char *path;
	} told[] = {{AGENT_CREATED, "file"}, {AGENT_CREATED, "file"}, {AGENT_CREATED, "last"}};
	struct box b = box_start(BOX_PLAIN);
	int fd = watch(&b, AGENT_PATH_RECURSIVE), writer = box_connect(&b);
	struct agent_path path = beneath(&b, "file");

	write_file(&b, writer, &path, SPAN("one"));
	write_file(&b, writer, &path, SPAN("two"));
	assert_int_equal(mknod(box_path(&b, "last"), S_IFREG | 0600, 0), 0);
	for (size_t i = 0; i < COUNT_OF(told); i++) {
		struct agent_change change;

		HEAR(&b, fd, AGENT_CHANGE, agent_change, &change);
		assert_int_equal(change.kind, told[i].kind);
		assert_string_equal(change.path, told[i].path);
	}
	(void)close(writer);
	(void)close(fd);
	box_end(&b);
}

TEST(a_missing_folder_cannot_be_watched)
{
	struct box b = box_start(BOX_PLAIN);
	struct agent_path path = beneath(&b, "missing");
	int fd = box_connect(&b);

	assert_int_equal(call_fails(&b, fd, AGENT_WATCH, &path).code, ERROR_NOT_FOUND);
	(void)close(fd);
	box_end(&b);
}

int main(void)
{
	return RUN(CASE(changes_in_a_folder_are_told), CASE(folders_that_appear_are_watched_too),
	           CASE(a_file_that_is_replaced_is_told_once_by_its_own_name),
	           CASE(a_missing_folder_cannot_be_watched));
}
