/* SPDX-License-Identifier: Apache-2.0 */
/* INSPECT, SET_ATTRIBUTES, and paths that begin at a home. */
#include "box.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

struct fixture {
	struct box b;
	int fd;
};

static struct fixture start(void)
{
	struct fixture f = {.b = box_start(BOX_PLAIN)};

	f.fd = box_connect(&f.b);
	return f;
}

static void finish(struct fixture *f)
{
	(void)close(f->fd);
	box_end(&f->b);
}

static struct agent_path whole(struct fixture *f, const char *name)
{
	return (struct agent_path){.path = box_path(&f->b, name)};
}

static struct agent_entry inspect(struct fixture *f, const struct agent_path *path)
{
	struct agent_entry entry;

	say(&f->b, f->fd, AGENT_INSPECT, agent_path_shape, path);
	HEAR(&f->b, f->fd, AGENT_ENTRY, agent_entry, &entry);
	assert_int_equal(hear_done(&f->b, f->fd), 1);
	return entry;
}

TEST(a_file_is_told_with_owner_mode_size_and_time)
{
	struct fixture f = start();
	struct agent_path path = whole(&f, "file");
	struct agent_entry entry;
	struct stat status;

	box_put(&f.b, "file", "12345");
	assert_int_equal(chmod(path.path, 0640), 0);
	assert_int_equal(stat(path.path, &status), 0);
	entry = inspect(&f, &path);
	assert_string_equal(entry.path, path.path);
	assert_int_equal(entry.type, AGENT_FILE_REGULAR);
	assert_int_equal(entry.mode, 0640);
	assert_int_equal(entry.size, 5);
	assert_int_equal(entry.modified_s, status.st_mtim.tv_sec);
	assert_int_equal(entry.modified_ns, status.st_mtim.tv_nsec);
	assert_string_equal(entry.link, "");
	assert_null(entry.attributes[0]);
	if (status.st_uid == 0)
		assert_string_equal(entry.owner, "root");
	finish(&f);
}

TEST(a_link_is_told_with_what_it_leads_to)
{
	struct fixture f = start();
	struct agent_path link = whole(&f, "link"), broken = whole(&f, "broken");
	struct agent_entry entry;

	box_put(&f.b, "file", "x");
	assert_int_equal(symlink("file", link.path), 0);
	assert_int_equal(symlink("/no/where", broken.path), 0);
	entry = inspect(&f, &link);
	assert_int_equal(entry.type, AGENT_FILE_SYMLINK);
	assert_string_equal(entry.link, box_path(&f.b, "file"));
	assert_int_equal(entry.link_type, AGENT_FILE_REGULAR);
	entry = inspect(&f, &broken);
	assert_string_equal(entry.link, "");
	assert_int_equal(entry.link_type, AGENT_FILE_OTHER);
	finish(&f);
}

TEST(a_folder_is_told_as_deep_as_asked_for)
{
	struct fixture f = start();
	struct agent_path path = {.path = box_path(&f.b, "."), .depth = 1};

	assert_int_equal(mkdir(box_path(&f.b, "a"), 0755), 0);
	box_put(&f.b, "a/b", "x");
	say(&f.b, f.fd, AGENT_INSPECT, agent_path_shape, &path);
	HEAR(&f.b, f.fd, AGENT_ENTRY, agent_entry, &(struct agent_entry){.path = NULL});
	assert_int_equal(hear_done(&f.b, f.fd), 1);
	path.depth = 2;
	say(&f.b, f.fd, AGENT_INSPECT, agent_path_shape, &path);
	HEAR(&f.b, f.fd, AGENT_ENTRY, agent_entry, &(struct agent_entry){.path = NULL});
	HEAR(&f.b, f.fd, AGENT_ENTRY, agent_entry, &(struct agent_entry){.path = NULL});
	assert_int_equal(hear_done(&f.b, f.fd), 2);
	path.depth = 65;
	say(&f.b, f.fd, AGENT_INSPECT, agent_path_shape, &path);
	assert_int_equal(hear_failed(&f.b, f.fd).code, ERROR_INVALID);
	finish(&f);
}

TEST(what_is_not_there_is_not_found)
{
	struct fixture f = start();
	struct agent_path path = whole(&f, "nothing");

	say(&f.b, f.fd, AGENT_INSPECT, agent_path_shape, &path);
	assert_int_equal(hear_failed(&f.b, f.fd).code, ERROR_NOT_FOUND);
	finish(&f);
}

static uint64_t set(struct fixture *f, const char *name, const char *target)
{
	struct agent_path path = whole(f, name);

	path.target = target;
	say(&f->b, f->fd, AGENT_SET_ATTRIBUTES, agent_path_shape, &path);
	return hear_done(&f->b, f->fd);
}

TEST(attributes_are_set_told_and_replaced)
{
	struct fixture f = start();
	struct agent_path path = whole(&f, "file");
	struct agent_entry entry;

	box_put(&f.b, "file", "x");
	assert_int_equal(setxattr(path.path, "user.other", "y", 1, 0), 0);
	assert_int_equal(set(&f, "file", "user.e2b.\na=1\nb=two=2\n"), 2);
	path.target = "user.e2b.";
	entry = inspect(&f, &path);
	assert_true(strcmp(entry.attributes[0], "a=1") == 0 ||
	            strcmp(entry.attributes[1], "a=1") == 0);
	assert_true(strcmp(entry.attributes[0], "b=two=2") == 0 ||
	            strcmp(entry.attributes[1], "b=two=2") == 0);
	assert_null(entry.attributes[2]);
	assert_int_equal(set(&f, "file", "user.e2b."), 0);
	assert_null(inspect(&f, &path).attributes[0]);
	assert_int_equal(getxattr(path.path, "user.other", NULL, 0), 1);
	finish(&f);
}

TEST(attributes_that_are_not_ours_to_set_are_refused)
{
	static const char *const targets[] = {"", "security.\na=1", "trusted.\n", "user\na=1",
	                                      "user.e2b.\nnothing"};
	struct fixture f = start();
	struct agent_path path = whole(&f, "file");

	box_put(&f.b, "file", "x");
	for (size_t i = 0; i < COUNT_OF(targets); i++) {
		path.target = targets[i];
		say(&f.b, f.fd, AGENT_SET_ATTRIBUTES, agent_path_shape, &path);
		assert_int_equal(hear_failed(&f.b, f.fd).code, ERROR_INVALID);
	}
	finish(&f);
}

TEST(a_write_in_place_keeps_the_file)
{
	struct fixture f = start();
	struct agent_path path = whole(&f, "file");
	struct stat before, after;

	box_put(&f.b, "file", "a long text");
	assert_int_equal(stat(path.path, &before), 0);
	path.flags = AGENT_PATH_IN_PLACE;
	write_file(&f.b, f.fd, &path, SPAN("short"));
	assert_int_equal(stat(path.path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_string_equal(box_get(&f.b, "file"), "short");
	finish(&f);
}

TEST(a_path_at_home_is_told_whole)
{
	struct fixture f = start();
	struct agent_path path = {.path = "~", .flags = AGENT_PATH_AT_HOME};

	assert_string_equal(inspect(&f, &path).path, "/root");
	path.path = "../tmp/.";
	assert_string_equal(inspect(&f, &path).path, "/tmp");
	path.root = "nobody-here|root";
	path.path = "~/../";
	assert_string_equal(inspect(&f, &path).path, "/");
	path.root = "nobody-here";
	say(&f.b, f.fd, AGENT_INSPECT, agent_path_shape, &path);
	assert_int_equal(hear_failed(&f.b, f.fd).code, ERROR_NOT_FOUND);
	finish(&f);
}

int main(void)
{
	return RUN(CASE(a_file_is_told_with_owner_mode_size_and_time),
	           CASE(a_link_is_told_with_what_it_leads_to),
	           CASE(a_folder_is_told_as_deep_as_asked_for),
	           CASE(what_is_not_there_is_not_found), CASE(attributes_are_set_told_and_replaced),
	           CASE(attributes_that_are_not_ours_to_set_are_refused),
	           CASE(a_write_in_place_keeps_the_file), CASE(a_path_at_home_is_told_whole));
}
