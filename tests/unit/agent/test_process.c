/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

TEST(a_command_gives_its_output_and_its_status)
{
	struct box b = box_start(BOX_HOST);
	struct ran r = run_shell(&b, "echo out; echo err >&2; exit 3");

	assert_string_equal(buf_text(&r.out[0]), "out\n");
	assert_string_equal(buf_text(&r.out[1]), "err\n");
	assert_int_equal(r.process.exit_code, 3);
	assert_int_equal(r.process.signal, 0);
	assert_int_equal(r.process.state, AGENT_PROCESS_ENDED);
	assert_int_equal(r.process.output_end[0], 4);
	ran_done(&r);
	box_end(&b);
}

TEST(one_connection_runs_one_command_after_the_other)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);

	for (int i = 0; i < 100; i++) {
		struct agent_exec command = shell(&b, "exit 7");
		struct ran r = exec(&b, fd, &command);

		assert_int_equal(r.process.exit_code, 7);
		assert_int_equal(r.process.process, i + 1);
		ran_done(&r);
	}
	box_end(&b);
}

TEST(a_signal_that_ends_a_command_is_told)
{
	struct box b = box_start(BOX_HOST);
	struct ran r = run_shell(&b, "kill -SEGV $$");

	assert_int_equal(r.process.exit_code, 128 + SIGSEGV);
	assert_int_equal(r.process.signal, SIGSEGV);
	ran_done(&r);
	box_end(&b);
}

static struct agent_failed exec_fails(struct box *b, const struct agent_exec *command)
{
	AUTO_CLOSE int fd = box_connect(b);
	struct agent_failed failed;

	say(b, fd, AGENT_EXEC, agent_exec_shape, command);
	failed = hear_failed(b, fd);
	/* The connection is as good as before. */
	say(b, fd, AGENT_PING, NULL, NULL);
	HEAR(b, fd, AGENT_PONG, agent_pong, &(struct agent_pong){0});
	return failed;
}

TEST(what_cannot_be_started_says_why)
{
	struct box b = box_start(BOX_HOST);
	const char *missing[] = {"no-such-command", NULL}, *none[] = {NULL};
	const char *folder[] = {"/tmp", NULL}, *bad_env[] = {"novalue", NULL};
	struct agent_exec command = {.args = missing};
	struct agent_failed failed = exec_fails(&b, &command);

	assert_int_equal(failed.code, ERROR_NOT_FOUND);
	assert_string_equal(failed.text, "command not found: 'no-such-command'");
	command = shell(&b, "true");
	command.cwd = "/not/there";
	failed = exec_fails(&b, &command);
	assert_int_equal(failed.code, ERROR_NOT_FOUND);
	assert_non_null(strstr(failed.text, "working folder '/not/there'"));
	command = (struct agent_exec){.args = none};
	assert_int_equal(exec_fails(&b, &command).code, ERROR_INVALID);
	command = (struct agent_exec){.args = folder};
	assert_int_equal(exec_fails(&b, &command).code, ERROR_FORBIDDEN);
	command = shell(&b, "true");
	command.env = bad_env;
	assert_int_equal(exec_fails(&b, &command).code, ERROR_INVALID);
	command = shell(&b, "true");
	command.ring_bytes = 1 << 30;
	assert_int_equal(exec_fails(&b, &command).code, ERROR_INVALID);
	box_end(&b);
}

static uint32_t count_in_use(struct box *b)
{
	AUTO_CLOSE int fd = box_connect(b);
	struct agent_pong pong;

	say(b, fd, AGENT_PING, NULL, NULL);
	HEAR(b, fd, AGENT_PONG, agent_pong, &pong);
	return pong.processes;
}

static void start_detached(struct box *b, int fd, uint32_t flags)
{
	struct agent_exec command = shell(b, "exec sleep 1000");
	struct agent_process started;

	command.flags = AGENT_EXEC_DETACH | flags;
	say(b, fd, AGENT_EXEC, agent_exec_shape, &command);
	HEAR(b, fd, AGENT_STARTED, agent_process, &started);
	(void)hear_done(b, fd);
	assert_int_equal(started.state, AGENT_PROCESS_RUNNING);
}

TEST(a_resident_command_runs_and_is_not_counted_as_use)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);

	start_detached(&b, fd, AGENT_EXEC_RESIDENT);
	assert_int_equal(count_in_use(&b), 0);
	start_detached(&b, fd, 0);
	assert_int_equal(count_in_use(&b), 1);
	for (uint64_t i = 1; i <= 2; i++) {
		say(&b, fd, AGENT_SIGNAL, agent_signal_shape,
		    &(struct agent_signal){.process = i, .signal = SIGKILL});
		(void)hear_done(&b, fd);
	}
	box_end(&b);
}

static bool comes_to(struct box *b, uint32_t expected)
{
	for (unsigned i = 0; i < 500; i++) {
		if (count_in_use(b) == expected)
			return true;
		(void)usleep(20 * 1000);
	}
	return false;
}

TEST(a_resident_shell_is_counted_while_something_runs_in_it)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = shell(&b, "read a; sleep 1000 & read b; kill $!; wait; read c; "
	                                      "while [ ! -e over ]; do :; done; read d");
	struct agent_feed line = {.process = 1, .bytes = SPAN("x\n")};
	struct agent_process started;

	command.flags =
	        AGENT_EXEC_DETACH | AGENT_EXEC_STDIN | AGENT_EXEC_RESIDENT | AGENT_EXEC_SHELL;
	say(&b, fd, AGENT_EXEC, agent_exec_shape, &command);
	HEAR(&b, fd, AGENT_STARTED, agent_process, &started);
	(void)hear_done(&b, fd);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(comes_to(&b, i % 2));
		say(&b, fd, AGENT_FEED, agent_feed_shape, &line);
		(void)hear_done(&b, fd);
	}
	assert_true(comes_to(&b, 1)); /* it computes, and has no child */
	box_put(&b, "over", "");
	assert_true(comes_to(&b, 0));
	say(&b, fd, AGENT_SIGNAL, agent_signal_shape,
	    &(struct agent_signal){.process = 1, .signal = SIGKILL, .whole_tree = 1});
	(void)hear_done(&b, fd);
	box_end(&b);
}

TEST(a_command_sees_a_small_environment_and_what_was_asked_for)
{
	struct box b;
	const char *env[] = {"PATH=/bin:/usr/bin", "MINE=a=b", NULL};
	struct agent_exec command;
	AUTO_CLOSE int fd = -1;
	struct ran r;

	(void)setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	b = box_start(BOX_HOST);
	fd = box_connect(&b);
	command = shell(&b, "/usr/bin/env; pwd");
	command.env = env;
	r = exec(&b, fd, &command);
	assert_null(strstr(buf_text(&r.out[0]), "secret"));
	assert_non_null(strstr(buf_text(&r.out[0]), "MINE=a=b\n"));
	assert_non_null(strstr(buf_text(&r.out[0]), "PATH=/bin:/usr/bin\n"));
	assert_non_null(strstr(buf_text(&r.out[0]), "LANG=C.UTF-8\n"));
	assert_non_null(strstr(buf_text(&r.out[0]), arena_format(&b.arena, "HOME=%s\n", b.folder)));
	ran_done(&r);
	box_end(&b);
}

TEST(a_command_gets_its_three_descriptors_and_nothing_else)
{
	struct box b = box_start(BOX_HOST);
	struct ran r = run_shell(&b, "ls /proc/self/fd | tr '\\n' ' '; "
	                             "grep -E 'Sig(Blk|Ign)' /proc/self/status; "
	                             "cat /proc/self/oom_score_adj");

	/* 3 is the folder that ls reads. */
	assert_true(span_starts_with(buf_span(&r.out[0]), "0 1 2 3 SigBlk"));
	assert_non_null(strstr(buf_text(&r.out[0]), "SigBlk:\t0000000000000000"));
	assert_non_null(strstr(buf_text(&r.out[0]), "SigIgn:\t0000000000000000\n300"));
	ran_done(&r);
	box_end(&b);
}

TEST(stdin_comes_with_the_request_or_piece_by_piece)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = shell(&b, "cat");
	struct ran r;

	command.stdin_bytes = SPAN("all at once");
	r = exec(&b, fd, &command);
	assert_string_equal(buf_text(&r.out[0]), "all at once");
	ran_done(&r);
	command = shell(&b, "cat; echo end");
	command.flags = AGENT_EXEC_STDIN;
	(void)exec_start(&b, fd, &command);
	say_raw(&b, fd, AGENT_STDIN, SPAN("one "));
	say_raw(&b, fd, AGENT_STDIN, SPAN("two "));
	say(&b, fd, AGENT_STDIN_END, NULL, NULL);
	r = exec_finish(&b, fd);
	assert_string_equal(buf_text(&r.out[0]), "one two end\n");
	ran_done(&r);
	box_end(&b);
}

TEST(stdin_that_nobody_reads_holds_the_sender_back)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b), other = box_connect(&b);
	struct agent_exec command = shell(&b, "echo $$ > pid; read line; cat | wc -c");
	static char much[AGENT_DATA_MAX];
	AUTO(buf_done) struct buf frame = BUF(2 * AGENT_DATA_MAX);
	struct error err;
	struct ran r;
	size_t sent = 0;

	command.flags = AGENT_EXEC_STDIN;
	(void)exec_start(&b, fd, &command);
	(void)kill(wait_for_number(&b, "pid"), SIGSTOP);
	memset(much, '\n', sizeof(much));
	wire_add_frame(&frame, AGENT_STDIN, (struct span){much, sizeof(much)});
	while (wire_send(fd, buf_span(&frame), deadline_after(200), &err) == 0) {
		sent += sizeof(much);
		assert_true(sent < 64 << 20);
	}
	assert_int_equal(err.code, ERROR_TIMEOUT);
	say(&b, other, AGENT_PING, NULL, NULL); /* nobody else waits */
	HEAR(&b, other, AGENT_PONG, agent_pong, &(struct agent_pong){0});
	(void)kill(wait_for_number(&b, "pid"), SIGKILL);
	(void)shutdown(fd, SHUT_RDWR);
	box_end(&b);
	(void)r;
}

TEST(large_output_comes_whole_and_in_order)
{
	struct box b = box_start(BOX_HOST);
	struct ran r = run_shell(&b, "seq 1 2000000");
	const char *text = buf_text(&r.out[0]);

	assert_int_equal(r.out[0].size, 14888896);
	assert_string_equal(text + r.out[0].size - 8, "2000000\n");
	for (long i = 1; i <= 2000000; i++) {
		char *end;

		assert_int_equal(strtol(text, &end, 10), i);
		text = end + 1;
	}
	ran_done(&r);
	box_end(&b);
}

int main(void)
{
	return RUN(CASE(a_command_gives_its_output_and_its_status),
	           CASE(one_connection_runs_one_command_after_the_other),
	           CASE(a_signal_that_ends_a_command_is_told),
	           CASE(what_cannot_be_started_says_why),
	           CASE(a_resident_command_runs_and_is_not_counted_as_use),
	           CASE(a_resident_shell_is_counted_while_something_runs_in_it),
	           CASE(a_command_sees_a_small_environment_and_what_was_asked_for),
	           CASE(a_command_gets_its_three_descriptors_and_nothing_else),
	           CASE(stdin_comes_with_the_request_or_piece_by_piece),
	           CASE(stdin_that_nobody_reads_holds_the_sender_back),
	           CASE(large_output_comes_whole_and_in_order));
}
