/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "provider/host_limits.h"
#include "unit.h"

/* A tree of groups; a group has two files. */
struct tree {
	char root[64];
	char made[4][96]; /* in the order of their making */
	unsigned count;
};

static struct tree make_tree(void)
{
	struct tree tree = {.count = 0};

	unit_folder(tree.root, sizeof(tree.root), "groups");
	return tree;
}

static void remove_tree(struct tree *tree)
{
	char path[128];

	while (tree->count-- > 0) {
		(void)snprintf(path, sizeof(path), "%s/pids.max", tree->made[tree->count]);
		assert_int_equal(unlink(path), 0);
		(void)snprintf(path, sizeof(path), "%s/pids.current", tree->made[tree->count]);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(rmdir(tree->made[tree->count]), 0);
	}
	assert_int_equal(rmdir(tree->root), 0);
}

static void add_group(struct tree *tree, const char *group, const char *max, const char *current)
{
	char *folder = tree->made[tree->count++], path[128];
	struct error err = {0};

	(void)snprintf(path, sizeof(tree->made[0]), "%s%s", tree->root, group);
	memcpy(folder, path, sizeof(tree->made[0]));
	assert_int_equal(mkdir(folder, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/pids.max", folder);
	assert_int_equal(file_write(AT_FDCWD, path, span_of(max), 0644, &err), 0);
	(void)snprintf(path, sizeof(path), "%s/pids.current", folder);
	assert_int_equal(file_write(AT_FDCWD, path, span_of(current), 0644, &err), 0);
}

TEST(the_group_with_the_least_room_counts_also_one_above)
{
	struct tree tree = make_tree();
	struct task_room room;

	add_group(&tree, "/pids", "max\n", "900\n");
	add_group(&tree, "/pids/slice", "100\n", "90\n");
	add_group(&tree, "/pids/slice/unit", "50\n", "20\n");
	task_room_find(tree.root, SPAN("9:cpu:/x\n8:pids:/slice/unit\n0::/\n"), &room);
	assert_int_equal(room.max, 100);
	assert_int_equal(room.used, 90);
	assert_string_equal(room.group + strlen(room.group) - strlen("/pids/slice"), "/pids/slice");
	remove_tree(&tree);
}

TEST(version_2_has_one_tree)
{
	struct tree tree = make_tree();
	struct task_room room;

	add_group(&tree, "/unit", "10\n", "12\n");
	task_room_find(tree.root, SPAN("0::/unit\n"), &room);
	assert_int_equal(room.max, 10);
	assert_int_equal(room.used, 12);
	remove_tree(&tree);
}

TEST(no_limit_and_paths_that_lead_out_are_no_limit)
{
	static const char *const own[] = {"",        "0::/free\n", "0::/../../etc\n", "0::/gone\n",
	                                  "garbage", ":::::\n",    "8:pids\n"};
	struct tree tree = make_tree();
	struct task_room room;

	add_group(&tree, "/free", "max\n", "3\n");
	for (unsigned i = 0; i < COUNT_OF(own); i++) {
		task_room_find(tree.root, span_of(own[i]), &room);
		assert_int_equal(room.max, 0);
	}
	remove_tree(&tree);
}

TEST(a_hint_that_is_there_and_other_errors_stay)
{
	struct error other = {0}, known = {0};

	error_set(&other, ERROR_SYSTEM, EIO, HERE, "a step");
	host_limits_explain(&other);
	assert_string_equal(other.hint, "");
	error_set(&known, ERROR_SYSTEM, EAGAIN, HERE, "a step");
	error_hint(&known, "wait");
	host_limits_explain(&known);
	assert_string_equal(known.hint, "wait");
}

int main(void)
{
	return RUN(CASE(the_group_with_the_least_room_counts_also_one_above),
	           CASE(version_2_has_one_tree),
	           CASE(no_limit_and_paths_that_lead_out_are_no_limit),
	           CASE(a_hint_that_is_there_and_other_errors_stay));
}
