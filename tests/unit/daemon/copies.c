/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/copies.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "unit.h"

#define PROCESSES 4
#define TURNS 200

static char root[64], folder[96];

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/atoll-copies-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	(void)snprintf(folder, sizeof(folder), "%s/run/nodes", root);
	return 0;
}

static int tear_down(void **state)
{
	char path[160];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/held", root);
	(void)unlink(path);
	(void)rmdir(folder);
	(void)snprintf(path, sizeof(path), "%s/run", root);
	(void)rmdir(path);
	return rmdir(root);
}

static bool has_file(const struct id *node)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, node->text);
	return access(path, F_OK) == 0;
}

TEST(a_second_copy_is_refused_and_told_of_the_first)
{
	struct id node = id_new();
	const struct copies_options first = {folder, "/data/first", &node};
	const struct copies_options second = {folder, "/data/second", &node};
	struct error err = {0};
	int fd = -1, other = -1;

	assert_int_equal(copies_lock(&first, &fd, &err), 0);
	assert_int_equal(copies_lock(&second, &other, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "'/data/second' is a copy of '/data/first'"));
	copies_unlock(&first, &fd);
	assert_int_equal(fd, -1);
	assert_false(has_file(&node));
	error_clear(&err);
	assert_int_equal(copies_lock(&second, &other, &err), 0);
	copies_unlock(&second, &other);
}

TEST(what_killed_servers_left_is_removed_and_a_running_one_keeps_its_file)
{
	struct id killed = id_new(), running = id_new(), next = id_new();
	const struct copies_options dead = {folder, "/data/killed", &killed};
	const struct copies_options alive = {folder, "/data/running", &running};
	const struct copies_options own = {folder, "/data/next", &next};
	struct error err = {0};
	int dead_fd = -1, alive_fd = -1, fd = -1;

	assert_int_equal(copies_lock(&dead, &dead_fd, &err), 0);
	assert_int_equal(copies_lock(&alive, &alive_fd, &err), 0);
	auto_close(&dead_fd); /* as a kill does: the file stays */
	assert_true(has_file(&killed));
	assert_int_equal(copies_lock(&own, &fd, &err), 0);
	assert_false(has_file(&killed));
	assert_true(has_file(&running) && has_file(&next));
	copies_unlock(&own, &fd);
	copies_unlock(&alive, &alive_fd);
	copies_unlock(&alive, &alive_fd);
	assert_false(has_file(&running));
}

/* 0: never two at once. The file "held" is there while a process has the lock. */
static int take_turns(const struct copies_options *o)
{
	char held[96];

	(void)snprintf(held, sizeof(held), "%s/held", root);
	for (unsigned i = 0; i < TURNS; i++) {
		struct error err = {0};
		int fd = -1, mark;

		if (copies_lock(o, &fd, &err) < 0)
			continue;
		mark = open(held, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (mark < 0)
			return 1;
		(void)close(mark);
		(void)unlink(held);
		copies_unlock(o, &fd);
	}
	return 0;
}

TEST(servers_that_come_and_go_never_hold_one_name_at_once)
{
	struct id node = id_new();
	const struct copies_options o = {folder, "/data/one", &node};

	for (unsigned i = 0; i < PROCESSES; i++)
		if (fork() == 0)
			_exit(take_turns(&o));
	for (unsigned i = 0; i < PROCESSES; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_false(has_file(&node));
}

#define FOLDER_CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(
	        FOLDER_CASE(a_second_copy_is_refused_and_told_of_the_first),
	        FOLDER_CASE(what_killed_servers_left_is_removed_and_a_running_one_keeps_its_file),
	        FOLDER_CASE(servers_that_come_and_go_never_hold_one_name_at_once));
}
