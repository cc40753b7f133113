/* SPDX-License-Identifier: Apache-2.0 */
/* The connection breaks in the middle of everything: no temporary file, no child is left (box_end
 * waits until the agent has none), and the agent serves the next one. */
#include "box.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/connection.h"
#include "agent/tar.h"
#include "base/clock.h"

static void still_serves(struct box *b)
{
	struct agent_path path = beneath(b, "");
	int fd = box_connect(b);

	(void)call(b, fd, AGENT_STAT, &path);
	(void)close(fd);
}

TEST(a_write_that_breaks_off_leaves_the_old_file_alone)
{
	struct box b = box_start(BOX_PLAIN);
	struct agent_path path = beneath(&b, "file");
	int fd = box_connect(&b);

	box_put(&b, "file", "old");
	say(&b, fd, AGENT_WRITE, agent_path_shape, &path);
	HEAR_EMPTY(&b, fd, AGENT_READY);
	say_raw(&b, fd, AGENT_DATA, SPAN("half of the new"));
	(void)close(fd);
	box_wait_for_children(&b, 0);
	assert_string_equal(box_get(&b, "file"), "old");
	assert_int_equal(box_count_entries(&b, "."), 1);
	still_serves(&b);
	box_end(&b);
}

/* Every cut of the bytes of a conversation. */
TEST(a_write_that_breaks_off_at_any_byte_leaves_nothing)
{
	struct box b = box_start(BOX_PLAIN);
	AUTO(buf_done) struct buf all = BUF(1 << 20);
	struct agent_path path = beneath(&b, "file");
	struct error err;

	assert_int_equal(wire_encode(&all, AGENT_WRITE, agent_path_shape, &path, &err), 0);
	wire_add_frame(&all, AGENT_DATA, SPAN("some bytes"));
	wire_add_frame(&all, AGENT_DATA_END, SPAN(""));
	for (size_t size = 1; size < all.size; size += 5) {
		int fd = box_connect(&b);

		assert_int_equal(send(fd, all.data, size, MSG_NOSIGNAL), size);
		(void)close(fd);
	}
	still_serves(&b); /* by then the agent has taken all earlier connections */
	box_wait_for_children(&b, 0);
	assert_int_equal(box_count_entries(&b, "."), 0);
	box_end(&b);
}

TEST(an_archive_that_breaks_off_leaves_whole_files_only)
{
	struct box b = box_start(BOX_PLAIN);
	AUTO(buf_done) struct buf head = BUF(1 << 16);
	struct tar_entry entry = {.name = "large", .link = "", .mode = 0644, .size = 1 << 20};
	struct agent_path path = beneath(&b, "");
	int fd = box_connect(&b);

	tar_add_header(&head, &entry);
	say(&b, fd, AGENT_TAR_IN, agent_path_shape, &path);
	HEAR_EMPTY(&b, fd, AGENT_READY);
	say_raw(&b, fd, AGENT_DATA, buf_span(&head));
	say_raw(&b, fd, AGENT_DATA, SPAN("some of the content"));
	(void)close(fd);
	box_wait_for_children(&b, 0);
	assert_int_equal(box_count_entries(&b, "."), 0);
	box_end(&b);
}

static void start_and_leave(struct box *b, uint16_t type, const char *name)
{
	struct agent_path path = beneath(b, name);
	int fd = box_connect(b);

	path.flags |= AGENT_PATH_RECURSIVE;
	path.depth = 8;
	path.target = type == AGENT_GLOB ? "**" : "copied";
	say(b, fd, type, agent_path_shape, &path);
	(void)hear_any(b, fd);
	(void)close(fd);
	box_wait_for_children(b, 0);
}

TEST(readers_that_leave_early_leave_no_worker)
{
	struct box b = box_start(BOX_PLAIN);
	struct ran r;

	r = run_shell(&b, arena_format(&b.arena,
	                               "cd %s; head -c 20000000 /dev/zero > big; mkdir many; "
	                               "cd many; seq 1 5000 | xargs touch",
	                               b.folder));
	ran_done(&r);
	start_and_leave(&b, AGENT_READ, "big");
	start_and_leave(&b, AGENT_LIST, "many");
	start_and_leave(&b, AGENT_GLOB, "many");
	start_and_leave(&b, AGENT_TAR_OUT, "");
	start_and_leave(&b, AGENT_WATCH, "");
	assert_int_equal(box_count_entries(&b, "."), 2);
	still_serves(&b);
	box_end(&b);
}

TEST(a_worker_that_is_stuck_ends_with_its_connection)
{
	struct box b = box_start(BOX_PLAIN);
	struct agent_path path = beneath(&b, "file");
	int fd = box_connect(&b);

	say(&b, fd, AGENT_WRITE, agent_path_shape, &path);
	HEAR_EMPTY(&b, fd, AGENT_READY);
	/* Stopped, it cannot see the end of its connection. */
	assert_int_equal(kill(box_only_child(&b), SIGSTOP), 0);
	(void)close(fd);
	box_wait_for_children(&b, 0);
	assert_int_equal(box_count_entries(&b, "."), 0);
	box_end(&b);
}

TEST(a_connection_that_breaks_during_a_command_leaves_the_command)
{
	struct box b = box_start(BOX_HOST);
	struct agent_exec command = shell(&b, "seq 1 1000000; echo 1 > finished");
	AUTO(buf_done) struct buf frame = BUF(1 << 16);
	struct error err;
	int fd = box_connect(&b);

	say(&b, fd, AGENT_EXEC, agent_exec_shape, &command);
	(void)hear_any(&b, fd);
	(void)close(fd);
	assert_int_equal(wait_for_number(&b, "finished"), 1);
	/* Also when it breaks before the start is known, and in the middle of the request. */
	assert_int_equal(wire_encode(&frame, AGENT_EXEC, agent_exec_shape, &command, &err), 0);
	for (size_t size = 1; size <= frame.size; size += 7) {
		fd = box_connect(&b);
		assert_int_equal(send(fd, frame.data, size, MSG_NOSIGNAL), size);
		(void)close(fd);
	}
	box_end(&b);
}

TEST(more_connections_than_allowed_are_turned_away)
{
	struct box b = box_start(BOX_HOST);
	int fds[CONNECTIONS_MAX], one_more;

	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		fds[i] = box_connect(&b);
		say(&b, fds[i], AGENT_PING, NULL, NULL);
		HEAR(&b, fds[i], AGENT_PONG, agent_pong, &(struct agent_pong){0});
	}
	one_more = box_connect(&b);
	assert_true(hear_end(&b, one_more));
	(void)close(one_more);
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		(void)close(fds[i]);
	box_end(&b);
}

TEST(an_exhausted_process_table_is_an_error_and_no_more)
{
	struct rlimit before, low = {.rlim_cur = 0};
	struct box b;
	struct agent_exec command;
	int fd;

	if (getuid() == 0) {
		print_message("skipped: RLIMIT_NPROC does not bind root\n");
		skip();
	}
	assert_int_equal(getrlimit(RLIMIT_NPROC, &before), 0);
	low.rlim_max = before.rlim_max;
	b = box_start(BOX_HOST);
	fd = box_connect(&b);
	assert_int_equal(prlimit(b.pid, RLIMIT_NPROC, &low, NULL), 0);
	command = shell(&b, "true");
	say(&b, fd, AGENT_EXEC, agent_exec_shape, &command);
	assert_int_not_equal(hear_failed(&b, fd).code, ERROR_NONE);
	(void)close(fd);
	box_end(&b);
}

int main(void)
{
	return RUN(CASE(a_write_that_breaks_off_leaves_the_old_file_alone),
	           CASE(a_write_that_breaks_off_at_any_byte_leaves_nothing),
	           CASE(an_archive_that_breaks_off_leaves_whole_files_only),
	           CASE(readers_that_leave_early_leave_no_worker),
	           CASE(a_worker_that_is_stuck_ends_with_its_connection),
	           CASE(a_connection_that_breaks_during_a_command_leaves_the_command),
	           CASE(more_connections_than_allowed_are_turned_away),
	           CASE(an_exhausted_process_table_is_an_error_and_no_more));
}
