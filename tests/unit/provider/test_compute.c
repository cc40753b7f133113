/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "provider/compute.h"
#include "provider/compute_run.h"
#include "provider/provider.h"
#include "wire/agent.h"
#include "wire/agent_files.h"
#include "wire/wire.h"

/* A provider whose agent has written its answers before anybody asks. */
struct provider {
	const struct provider_ops *ops;
	struct buf script;
	int waiting; /* what take() gives, once */
	int agent;   /* the agent's end of the last connection */
	unsigned connects, given_back;
};

static int script_connect(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                          struct error *err)
{
	int ends[2];

	(void)id;
	(void)deadline;
	(void)err;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	if (p->script.size > 0)
		assert_int_equal(write(ends[1], p->script.data, p->script.size),
		                 (ssize_t)p->script.size);
	if (p->agent >= 0)
		close(p->agent);
	p->agent = ends[1];
	p->connects++;
	*ret_fd = ends[0];
	return 0;
}

static int script_take(struct provider *p, const char *id)
{
	int fd = p->waiting;

	(void)id;
	p->waiting = -1;
	return fd;
}

static void script_give_back(struct provider *p, const char *id, int fd)
{
	(void)id;
	p->given_back++;
	close(fd);
}

static const struct compute_ops script_compute = {
        .connect = script_connect, .take = script_take, .give_back = script_give_back};
static const struct provider_ops script_ops = {.name = "script", .compute = &script_compute};

static struct provider script(void)
{
	return (struct provider){&script_ops, BUF(1 << 20), -1, -1, 0, 0};
}

static void script_done(struct provider *p)
{
	buf_done(&p->script);
	if (p->agent >= 0)
		close(p->agent);
}

static void says(struct provider *p, uint16_t type, const struct wire_member *shape,
                 const void *message)
{
	struct error err = {0};

	assert_int_equal(wire_encode(&p->script, type, shape, message, &err), 0);
}

static void says_done(struct provider *p, uint64_t count)
{
	says(p, AGENT_DONE, agent_done_shape, &(struct agent_done){count});
}

static void says_file(struct provider *p, const char *path)
{
	says(p, AGENT_FILE, agent_file_shape, &(struct agent_file){.path = path, .link = ""});
}

/* ---- one request, one reply ---- */

struct asked {
	struct arena arena;
	struct agent_file file;
	struct agent_done done;
	struct error err;
	unsigned count;
};

static int ask(struct provider *p, uint16_t type, struct asked *ret)
{
	struct agent_path path = {.path = "/x"};
	struct compute_call call = {.type = type,
	                            .shape = agent_path_shape,
	                            .message = &path,
	                            .reply_type = AGENT_FILE,
	                            .reply_shape = agent_file_shape,
	                            .reply = &ret->file,
	                            .reply_size = sizeof(ret->file),
	                            .done = &ret->done};

	return compute_call(p, "x", &ret->arena, &call, deadline_after(2000), &ret->err);
}

TEST(a_call_fills_its_reply_and_the_count)
{
	AUTO(script_done) struct provider p = script();
	struct asked asked = {0};

	says_file(&p, "/x");
	says_done(&p, 7);
	assert_int_equal(ask(&p, AGENT_STAT, &asked), 0);
	assert_string_equal(asked.file.path, "/x");
	assert_int_equal(asked.done.count, 7);
	arena_done(&asked.arena);
}

TEST(a_failure_becomes_the_error)
{
	AUTO(script_done) struct provider p = script();
	struct asked asked = {0};
	struct agent_failed failed = {ERROR_NOT_FOUND, 2, "no\nsuch file", "look"};

	says(&p, AGENT_FAILED, agent_failed_shape, &failed);
	assert_int_equal(ask(&p, AGENT_STAT, &asked), -1);
	assert_int_equal(asked.err.code, ERROR_NOT_FOUND);
	assert_string_equal(asked.err.text, "no?such file");
	assert_string_equal(asked.err.hint, "look");
}

TEST(an_agent_cannot_speak_of_the_callers_key)
{
	struct buf frame = BUF(4096);
	struct error err = {0};
	static const uint32_t codes[] = {ERROR_UNAUTHENTICATED, ERROR_NONE, 12345};

	for (unsigned i = 0; i < COUNT_OF(codes); i++) {
		struct agent_failed failed = {codes[i], 0, "text", ""};
		buf_reset(&frame);
		assert_int_equal(
		        wire_encode(&frame, AGENT_FAILED, agent_failed_shape, &failed, &err), 0);
		struct span payload = {frame.data + WIRE_HEAD_SIZE, frame.size - WIRE_HEAD_SIZE};
		assert_int_equal(compute_failed(payload, &err), -1);
		assert_int_equal(err.code, ERROR_SYSTEM);
	}
	buf_done(&frame);
	assert_int_equal(compute_failed(SPAN("\1"), &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
}

TEST(messages_out_of_order_are_refused)
{
	static const uint16_t types[] = {AGENT_READY, AGENT_EXIT, 999};

	for (unsigned i = 0; i < COUNT_OF(types); i++) {
		AUTO(script_done) struct provider p = script();
		struct asked asked = {0};
		says(&p, types[i], NULL, NULL);
		assert_int_equal(ask(&p, AGENT_STAT, &asked), -1);
		assert_int_equal(asked.err.code, ERROR_SYSTEM);
	}
}

TEST(a_second_reply_where_one_is_due_is_refused)
{
	AUTO(script_done) struct provider p = script();
	struct asked asked = {0};

	says_file(&p, "/x");
	says_file(&p, "/y");
	assert_int_equal(ask(&p, AGENT_STAT, &asked), -1);
	assert_int_equal(asked.err.code, ERROR_SYSTEM);
	arena_done(&asked.arena);
}

TEST(a_malformed_reply_is_refused)
{
	AUTO(script_done) struct provider p = script();
	struct asked asked = {0};

	wire_add_frame(&p.script, AGENT_FILE, SPAN("rubbish"));
	assert_int_equal(ask(&p, AGENT_STAT, &asked), -1);
	assert_int_equal(asked.err.code, ERROR_INVALID);
	arena_done(&asked.arena);
}

TEST(an_agent_that_is_silent_ends_at_the_deadline)
{
	AUTO(script_done) struct provider p = script();
	struct arena a = {0};
	struct compute_call call = {.type = AGENT_PROCESSES};
	struct error err = {0};

	assert_int_equal(compute_call(&p, "x", &a, &call, deadline_after(20), &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_int_equal(p.given_back, 0);
}

/* ---- many replies ---- */

static int count_file(void *context, const void *reply, struct error *err)
{
	struct asked *asked = context;
	const struct agent_file *file = reply;

	if (!strcmp(file->path, "bad"))
		return FAIL(err, ERROR_CONFLICT, "enough");
	asked->count++;
	return 0;
}

static int list(struct provider *p, struct asked *ret)
{
	struct agent_path path = {.path = "/x"};
	struct compute_call call = {.type = AGENT_LIST,
	                            .shape = agent_path_shape,
	                            .message = &path,
	                            .reply_type = AGENT_FILE,
	                            .reply_shape = agent_file_shape,
	                            .reply = &ret->file,
	                            .reply_size = sizeof(ret->file),
	                            .on_reply = count_file,
	                            .context = ret};

	return compute_call(p, "x", &ret->arena, &call, deadline_after(2000), &ret->err);
}

TEST(each_of_many_replies_is_handed_on)
{
	AUTO(script_done) struct provider p = script();
	struct asked asked = {0};

	says_file(&p, "a");
	says_file(&p, "b");
	says_done(&p, 2);
	assert_int_equal(list(&p, &asked), 0);
	assert_int_equal(asked.count, 2);
	arena_done(&asked.arena);
}

TEST(whoever_takes_replies_may_refuse_one)
{
	AUTO(script_done) struct provider p = script();
	struct asked asked = {0};

	says_file(&p, "bad");
	says_done(&p, 1);
	assert_int_equal(list(&p, &asked), -1);
	assert_int_equal(asked.err.code, ERROR_CONFLICT);
	arena_done(&asked.arena);
}

/* ---- which connections are used again ---- */

static int processes(struct provider *p)
{
	struct arena a = {0};
	struct compute_call call = {.type = AGENT_PROCESSES};
	struct error err = {0};

	return compute_call(p, "x", &a, &call, deadline_after(2000), &err);
}

TEST(a_process_connection_is_given_back_and_a_file_connection_is_not)
{
	AUTO(script_done) struct provider p = script();
	struct asked asked = {0};

	says_done(&p, 0);
	assert_int_equal(processes(&p), 0);
	assert_int_equal(p.given_back, 1);
	assert_int_equal(ask(&p, AGENT_REMOVE, &asked), 0);
	assert_int_equal(p.given_back, 1);
	arena_done(&asked.arena);
}

TEST(a_failed_request_leaves_its_connection_usable)
{
	AUTO(script_done) struct provider p = script();
	struct agent_failed failed = {ERROR_CONFLICT, 0, "no", ""};

	says(&p, AGENT_FAILED, agent_failed_shape, &failed);
	assert_int_equal(processes(&p), -1);
	assert_int_equal(p.given_back, 1);
}

TEST(a_waiting_connection_is_taken_for_processes_only)
{
	AUTO(script_done) struct provider p = script();
	struct asked asked = {0};
	int ends[2];

	says_done(&p, 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	p.waiting = ends[0];
	assert_int_equal(ask(&p, AGENT_REMOVE, &asked), 0);
	assert_int_equal(p.waiting, ends[0]);
	assert_int_equal(write(ends[1], p.script.data, p.script.size), (ssize_t)p.script.size);
	assert_int_equal(processes(&p), 0);
	assert_int_equal(p.waiting, -1);
	assert_int_equal(p.connects, 1);
	close(ends[1]);
	arena_done(&asked.arena);
}

TEST(a_waiting_connection_that_broke_is_replaced_by_a_new_one)
{
	AUTO(script_done) struct provider p = script();
	int ends[2];

	says_done(&p, 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	close(ends[1]);
	p.waiting = ends[0];
	assert_int_equal(processes(&p), 0);
	assert_int_equal(p.connects, 1);
}

/* ---- a command to its end ---- */

static void says_output(struct provider *p, uint32_t stream, const char *text)
{
	says(p, AGENT_OUTPUT, agent_output_shape,
	     &(struct agent_output){.stream = stream, .bytes = span_of(text)});
}

static void says_process(struct provider *p, uint16_t type, uint32_t state, int64_t code)
{
	struct agent_process process = {.process = 1, .state = state, .exit_code = code};

	says(p, type, agent_process_shape, &process);
}

static int run(struct provider *p, struct arena *a, size_t out_max, struct compute_result *ret,
               struct error *err)
{
	const char *args[] = {"true", NULL};
	struct agent_exec exec = {.args = args};

	struct compute_run options = {&exec, out_max, deadline_after(2000)};

	return compute_run(p, "x", a, &options, ret, err);
}

TEST(a_run_collects_both_streams_up_to_the_limit)
{
	AUTO(script_done) struct provider p = script();
	AUTO(arena_done) struct arena a = {0};
	struct compute_result result;
	struct error err = {0};

	says_process(&p, AGENT_STARTED, AGENT_PROCESS_RUNNING, -1);
	says_output(&p, AGENT_STDOUT, "one ");
	says_output(&p, AGENT_STDERR, "bad");
	says_output(&p, AGENT_STDOUT, "two");
	says_process(&p, AGENT_EXIT, AGENT_PROCESS_ENDED, 3);
	assert_int_equal(run(&p, &a, 6, &result, &err), 0);
	assert_true(span_equals_text(result.out[0], "one tw"));
	assert_true(span_equals_text(result.out[1], "bad"));
	assert_true(result.truncated[0]);
	assert_false(result.truncated[1]);
	assert_int_equal(result.process.exit_code, 3);
	assert_int_equal(p.given_back, 1);
}

TEST(output_of_a_stream_that_is_none_is_refused)
{
	AUTO(script_done) struct provider p = script();
	AUTO(arena_done) struct arena a = {0};
	struct compute_result result;
	struct error err = {0};

	says_output(&p, 3, "x");
	assert_int_equal(run(&p, &a, 100, &result, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_int_equal(p.given_back, 0);
}

TEST(an_end_that_is_none_is_refused)
{
	AUTO(script_done) struct provider p = script();
	AUTO(arena_done) struct arena a = {0};
	struct compute_result result;
	struct error err = {0};

	says_process(&p, AGENT_EXIT, AGENT_PROCESS_RUNNING, -1);
	assert_int_equal(run(&p, &a, 100, &result, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
}

TEST(a_run_asks_to_be_ended_with_its_connection)
{
	AUTO(script_done) struct provider p = script();
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf payload = BUF(WIRE_PAYLOAD_MAX);
	struct compute_result result;
	struct agent_exec seen;
	struct error err = {0};
	uint16_t type;

	says_process(&p, AGENT_EXIT, AGENT_PROCESS_ENDED, 0);
	assert_int_equal(run(&p, &a, 100, &result, &err), 0);
	assert_int_equal(wire_receive(p.agent, deadline_after(2000), &type, &payload, &err), 0);
	assert_int_equal(type, AGENT_EXEC);
	assert_int_equal(
	        wire_decode(&a, buf_span(&payload), agent_exec_shape, &seen, sizeof(seen), &err),
	        0);
	assert_true(seen.flags & AGENT_EXEC_END_ON_CLOSE);
}

int main(void)
{
	return RUN(CASE(a_call_fills_its_reply_and_the_count), CASE(a_failure_becomes_the_error),
	           CASE(an_agent_cannot_speak_of_the_callers_key),
	           CASE(messages_out_of_order_are_refused),
	           CASE(a_second_reply_where_one_is_due_is_refused),
	           CASE(a_malformed_reply_is_refused),
	           CASE(an_agent_that_is_silent_ends_at_the_deadline),
	           CASE(each_of_many_replies_is_handed_on),
	           CASE(whoever_takes_replies_may_refuse_one),
	           CASE(a_process_connection_is_given_back_and_a_file_connection_is_not),
	           CASE(a_failed_request_leaves_its_connection_usable),
	           CASE(a_waiting_connection_is_taken_for_processes_only),
	           CASE(a_waiting_connection_that_broke_is_replaced_by_a_new_one),
	           CASE(a_run_collects_both_streams_up_to_the_limit),
	           CASE(output_of_a_stream_that_is_none_is_refused),
	           CASE(an_end_that_is_none_is_refused),
	           CASE(a_run_asks_to_be_ended_with_its_connection));
}
