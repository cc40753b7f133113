/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/process.h"
#include "agent/ring.h"
#include "base/clock.h"

/* ---- the ring alone ---- */

static void ring_put(struct ring *r, const char *text, uint64_t floor)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], text, strlen(text)), strlen(text));
	while (r->capacity < ring_wants(r))
		ring_resize(r, ring_wants(r));
	assert_true(ring_fill(r, fds[0], floor) > 0);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static struct span ring_read(struct ring *r, uint64_t from, struct buf *out)
{
	struct span piece;

	buf_reset(out);
	while ((piece = ring_peek(r, &from)).size) {
		buf_add_span(out, piece);
		from += piece.size;
	}
	return buf_span(out);
}

TEST(a_ring_keeps_the_newest_bytes_under_their_offsets)
{
	AUTO(buf_done) struct buf out = BUF(1 << 16);
	struct ring r = {.capacity_max = 10};
	uint64_t at = 0;

	ring_put(&r, "abcdef", UINT64_MAX);
	ring_put(&r, "gh", UINT64_MAX);
	assert_true(span_equals_text(ring_read(&r, 2, &out), "cdefgh"));
	ring_put(&r, "ij", UINT64_MAX);
	ring_put(&r, "klmnopqrst", UINT64_MAX);
	assert_int_equal(r.end, 20);
	assert_true(span_equals_text(ring_read(&r, 0, &out), "klmnopqrst"));
	(void)ring_peek(&r, &at);
	assert_int_equal(at, 10);
	ring_done(&r);
}

TEST(a_ring_overwrites_nothing_that_a_reader_still_wants)
{
	struct ring r = {.capacity_max = 8};
	int fds[2];

	ring_put(&r, "12345678", UINT64_MAX);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "abcdef", 6), 6);
	assert_int_equal(ring_fill(&r, fds[0], 0), -1);
	assert_int_equal(errno, ENOBUFS);
	assert_int_equal(ring_fill(&r, fds[0], 3), 3);
	assert_int_equal(r.start, 3);
	(void)close(fds[0]);
	(void)close(fds[1]);
	ring_done(&r);
}

TEST(a_ring_keeps_its_bytes_when_it_changes_size)
{
	AUTO(buf_done) struct buf out = BUF(1 << 16);
	struct ring r = {.capacity_max = 10};

	ring_put(&r, "0123456789", UINT64_MAX);
	ring_put(&r, "abc", UINT64_MAX);
	r.capacity_max = 1000;
	ring_resize(&r, 700);
	ring_put(&r, "-more", UINT64_MAX);
	ring_resize(&r, ring_used(&r));
	assert_true(span_equals_text(ring_read(&r, 0, &out), "3456789abc-more") ||
	            span_equals_text(ring_read(&r, 0, &out), "abc-more"));
	ring_done(&r);
}

/* ---- through the agent ---- */

static struct ran attach(struct box *b, int fd, const struct agent_attach *attach)
{
	struct agent_process started;

	say(b, fd, AGENT_ATTACH, agent_attach_shape, attach);
	HEAR(b, fd, AGENT_STARTED, agent_process, &started);
	return exec_finish(b, fd);
}

TEST(output_can_be_had_again_from_any_offset)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = shell(&b, "echo first; echo second");
	struct ran r = exec(&b, fd, &command), again;

	again = attach(&b, fd,
	               &(struct agent_attach){
	                       .process = r.process.process, .since = {6, 0}, .until_end = 1});
	assert_string_equal(buf_text(&again.out[0]), "second\n");
	assert_int_equal(again.process.exit_code, 0);
	ran_done(&again);
	ran_done(&r);
	box_end(&b);
}

TEST(what_the_ring_lost_shows_as_a_jump_of_the_offset)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command =
	        shell(&b, "seq 1 100000; echo done > ready.tmp; echo 1 > ready; "
	                  "exec sleep 1000");
	struct agent_attach from_start = {.until_end = 0};
	struct agent_process process;
	struct agent_output output;

	command.flags = AGENT_EXEC_DETACH;
	command.ring_bytes = 8192;
	say(&b, fd, AGENT_EXEC, agent_exec_shape, &command);
	HEAR(&b, fd, AGENT_STARTED, agent_process, &process);
	(void)hear_done(&b, fd);
	(void)wait_for_number(&b, "ready");
	from_start.process = process.process;
	say(&b, fd, AGENT_ATTACH, agent_attach_shape, &from_start);
	HEAR(&b, fd, AGENT_STARTED, agent_process, &process);
	HEAR(&b, fd, AGENT_OUTPUT, agent_output, &output);
	assert_true(output.offset > 500000);
	while (hear_any(&b, fd) == AGENT_OUTPUT)
		;
	say(&b, fd, AGENT_SIGNAL, agent_signal_shape,
	    &(struct agent_signal){.process = process.process, .signal = SIGKILL, .whole_tree = 1});
	(void)hear_done(&b, fd);
	box_end(&b);
}

TEST(a_slow_reader_holds_the_process_back_and_loses_nothing)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command =
	        shell(&b, "head -c 8000000 /dev/zero; echo 1 > written; echo the end");
	struct ran r;

	command.ring_bytes = 65536;
	(void)exec_start(&b, fd, &command);
	/* Nobody reads: of what does not fit into ring, pipe and socket nothing can be written. */
	for (int i = 0; i < 5; i++) {
		AUTO_CLOSE int other = box_connect(&b);

		say(&b, other, AGENT_PING, NULL, NULL);
		HEAR(&b, other, AGENT_PONG, agent_pong, &(struct agent_pong){0});
		assert_null(box_get(&b, "written"));
	}
	r = exec_finish(&b, fd);
	assert_int_equal(r.out[0].size, 8000008);
	assert_string_equal(r.out[0].data + 8000000, "the end\n");
	ran_done(&r);
	box_end(&b);
}

TEST(several_readers_get_the_same)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int one = box_connect(&b), two = box_connect(&b);
	struct agent_exec command = shell(&b, "echo a; read line; seq 1 10000");
	struct agent_attach second = {.until_end = 1, .read_only = 1};
	struct agent_process process;
	struct ran first, other;

	command.flags = AGENT_EXEC_STDIN;
	second.process = exec_start(&b, one, &command);
	say(&b, two, AGENT_ATTACH, agent_attach_shape, &second);
	HEAR(&b, two, AGENT_STARTED, agent_process, &process);
	say_raw(&b, two, AGENT_STDIN, SPAN("not from a reader\n")); /* dropped */
	say_raw(&b, one, AGENT_STDIN, SPAN("go\n"));
	first = exec_finish(&b, one);
	other = exec_finish(&b, two);
	assert_int_equal(first.out[0].size, 2 + 48894);
	assert_true(span_equals(buf_span(&first.out[0]), buf_span(&other.out[0])));
	ran_done(&first);
	ran_done(&other);
	box_end(&b);
}

TEST(a_detached_process_goes_on_and_can_be_fed_signalled_and_listed)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = shell(&b, "cat; echo bye");
	struct agent_process process;
	struct ran r;

	command.flags = AGENT_EXEC_STDIN;
	command.label = "my label";
	(void)exec_start(&b, fd, &command);
	say(&b, fd, AGENT_DETACH, NULL, NULL);
	(void)hear_done(&b, fd);
	say(&b, fd, AGENT_PROCESSES, NULL, NULL);
	HEAR(&b, fd, AGENT_PROCESS, agent_process, &process);
	assert_string_equal(process.label, "my label");
	assert_string_equal(process.args[2], "cat; echo bye");
	assert_int_equal(process.state, AGENT_PROCESS_RUNNING);
	assert_int_equal(hear_done(&b, fd), 1);
	say(&b, fd, AGENT_FEED, agent_feed_shape,
	    &(struct agent_feed){.process = 1, .bytes = SPAN("fed\n"), .end = 1});
	assert_int_equal(hear_done(&b, fd), 4);
	r = attach(&b, fd, &(struct agent_attach){.process = 1, .until_end = 1});
	assert_string_equal(buf_text(&r.out[0]), "fed\nbye\n");
	ran_done(&r);
	say(&b, fd, AGENT_FEED, agent_feed_shape,
	    &(struct agent_feed){.process = 1, .bytes = SPAN("late")});
	assert_int_equal(hear_failed(&b, fd).code, ERROR_CONFLICT);
	say(&b, fd, AGENT_FORGET, agent_signal_shape, &(struct agent_signal){.process = 1});
	(void)hear_done(&b, fd);
	say(&b, fd, AGENT_ATTACH, agent_attach_shape, &(struct agent_attach){.process = 1});
	assert_int_equal(hear_failed(&b, fd).code, ERROR_NOT_FOUND);
	box_end(&b);
}

TEST(a_child_that_keeps_the_pipe_does_not_keep_the_reply)
{
	struct box b = box_start(BOX_HOST);
	int64_t before = clock_monotonic_ms();
	struct ran r = run_shell(&b, "sleep 1000 & echo $!");
	pid_t child = (pid_t)strtol(buf_text(&r.out[0]), NULL, 10);

	assert_true(clock_monotonic_ms() - before < 5000);
	assert_int_equal(r.process.exit_code, 0);
	assert_false(is_dead(child));
	(void)kill(child, SIGKILL);
	wait_until_dead(child);
	ran_done(&r);
	box_end(&b);
}

TEST(requests_sent_ahead_wait_for_their_turn)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = shell(&b, "echo one");
	struct agent_process started;
	struct ran r;

	say(&b, fd, AGENT_EXEC, agent_exec_shape, &command);
	command = shell(&b, "echo two");
	say(&b, fd, AGENT_EXEC, agent_exec_shape, &command);
	say(&b, fd, AGENT_STAT, agent_path_shape, &(struct agent_path){.path = "/"});
	for (int i = 0; i < 2; i++) {
		HEAR(&b, fd, AGENT_STARTED, agent_process, &started);
		r = exec_finish(&b, fd);
		assert_string_equal(buf_text(&r.out[0]), i == 0 ? "one\n" : "two\n");
		ran_done(&r);
	}
	HEAR(&b, fd, AGENT_FILE, agent_file, &(struct agent_file){0});
	(void)hear_done(&b, fd);
	box_end(&b);
}

TEST(messages_for_a_process_that_has_just_ended_are_dropped)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = shell(&b, "true");
	struct ran r = exec(&b, fd, &command);

	say_raw(&b, fd, AGENT_STDIN, SPAN("late"));
	say(&b, fd, AGENT_STDIN_END, NULL, NULL);
	say(&b, fd, AGENT_SIGNAL, agent_signal_shape, &(struct agent_signal){.signal = 2});
	say(&b, fd, AGENT_RESIZE, agent_resize_shape, &(struct agent_resize){1, 1});
	say(&b, fd, AGENT_PING, NULL, NULL);
	HEAR(&b, fd, AGENT_PONG, agent_pong, &(struct agent_pong){0});
	ran_done(&r);
	box_end(&b);
}

TEST(malformed_frames_end_the_connection_and_nothing_else)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int bad = box_connect(&b), unknown = box_connect(&b), fine = box_connect(&b);

	assert_int_equal(send(bad, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
	assert_int_equal(hear_failed(&b, bad).code, ERROR_INVALID);
	assert_true(hear_end(&b, bad));
	say_raw(&b, unknown, AGENT_EXEC, SPAN("short"));
	assert_int_equal(hear_failed(&b, unknown).code, ERROR_INVALID);
	assert_true(hear_end(&b, unknown));
	say(&b, fine, AGENT_PING, NULL, NULL);
	HEAR(&b, fine, AGENT_PONG, agent_pong, &(struct agent_pong){0});
	box_end(&b);
}

TEST(no_more_commands_run_at_once_than_allowed)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = shell(&b, "exec sleep 1000");
	struct agent_process process;

	command.flags = AGENT_EXEC_DETACH;
	for (int i = 0; i < PROCESS_RUNNING_MAX; i++) {
		say(&b, fd, AGENT_EXEC, agent_exec_shape, &command);
		HEAR(&b, fd, AGENT_STARTED, agent_process, &process);
		(void)hear_done(&b, fd);
	}
	say(&b, fd, AGENT_EXEC, agent_exec_shape, &command);
	assert_int_equal(hear_failed(&b, fd).code, ERROR_LIMIT);
	for (uint64_t i = 1; i <= PROCESS_RUNNING_MAX; i++) {
		say(&b, fd, AGENT_SIGNAL, agent_signal_shape,
		    &(struct agent_signal){.process = i, .signal = SIGKILL});
		(void)hear_done(&b, fd);
	}
	box_end(&b);
}

TEST(old_ended_processes_are_forgotten_first)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = shell(&b, "echo x");
	struct agent_process process = {0};
	uint64_t count;

	for (int i = 0; i < 70; i++) {
		struct ran r = exec(&b, fd, &command);

		ran_done(&r);
	}
	say(&b, fd, AGENT_PROCESSES, NULL, NULL);
	for (count = 0; count < 64; count++) {
		HEAR(&b, fd, AGENT_PROCESS, agent_process, &process);
		assert_int_equal(process.process, 7 + count);
	}
	assert_int_equal(hear_done(&b, fd), 64);
	box_end(&b);
}

int main(void)
{
	return RUN(CASE(a_ring_keeps_the_newest_bytes_under_their_offsets),
	           CASE(a_ring_overwrites_nothing_that_a_reader_still_wants),
	           CASE(a_ring_keeps_its_bytes_when_it_changes_size),
	           CASE(output_can_be_had_again_from_any_offset),
	           CASE(what_the_ring_lost_shows_as_a_jump_of_the_offset),
	           CASE(a_slow_reader_holds_the_process_back_and_loses_nothing),
	           CASE(several_readers_get_the_same),
	           CASE(a_detached_process_goes_on_and_can_be_fed_signalled_and_listed),
	           CASE(a_child_that_keeps_the_pipe_does_not_keep_the_reply),
	           CASE(requests_sent_ahead_wait_for_their_turn),
	           CASE(messages_for_a_process_that_has_just_ended_are_dropped),
	           CASE(malformed_frames_end_the_connection_and_nothing_else),
	           CASE(no_more_commands_run_at_once_than_allowed),
	           CASE(old_ended_processes_are_forgotten_first));
}
