/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/core/session.h"

static struct arena arena;
static struct error err;

struct fixture {
	struct session_events events;
	int out[2], errors[2];
	int64_t started;
	unsigned starts;
};
static struct fixture f;

static void on_started(void *context, int64_t process)
{
	assert_ptr_equal(context, &f);
	f.started = process;
	f.starts++;
}

static int open_events(void **state)
{
	(void)state;
	f = (struct fixture){0};
	session_events_init(&f.events);
	if (pipe(f.out) < 0 || pipe(f.errors) < 0)
		return -1;
	f.events.out_fd = f.out[1];
	f.events.err_fd = f.errors[1];
	f.events.on_started = on_started;
	f.events.context = &f;
	return 0;
}

static int close_events(void **state)
{
	(void)state;
	event_lines_done(&f.events.lines);
	for (unsigned i = 0; i < 2; i++) {
		(void)close(f.out[i]);
		(void)close(f.errors[i]);
	}
	arena_done(&arena);
	return 0;
}

static int add(const char *text)
{
	return session_events_add(&f.events, span_of(text), &err);
}

static void expect(int fd, const char *bytes, size_t size)
{
	char room[256];

	assert_int_equal(read(fd, room, sizeof(room)), size);
	assert_memory_equal(room, bytes, size);
}

TEST(output_goes_where_it_belongs)
{
	assert_int_equal(
	        add("{\"event\":\"started\",\"process\":7,\"pid\":3,\"since\":\"0.0\"}\n"
	            "{\"event\":\"stdout\",\"offset\":0,\"data\":\"hi\\n\",\"since\":\"3.0\"}\n"
	            "{\"event\":\"stderr\",\"offset\":0,\"data\":\"oh\",\"since\":\"3.2\"}\n"),
	        0);
	expect(f.out[0], "hi\n", 3);
	expect(f.errors[0], "oh", 2);
	assert_int_equal(f.started, 7);
	assert_int_equal(f.starts, 1);
	assert_string_equal(f.events.since, "3.2");
	assert_false(f.events.ended);
}

TEST(bytes_that_are_no_text_come_as_base64)
{
	assert_int_equal(add("{\"event\":\"stdout\",\"data\":\"/wA=\",\"encoding\":\"base64\"}\n"),
	                 0);
	expect(f.out[0], "\xFF\0", 2);
	assert_int_equal(
	        add("{\"event\":\"stdout\",\"data\":\"AAECAw==\",\"encoding\":\"base64\"}\n"), 0);
	expect(f.out[0], "\0\1\2\3", 4);
	assert_int_equal(add("{\"event\":\"stdout\",\"data\":\"YWJj\",\"encoding\":\"base64\"}\n"),
	                 0);
	expect(f.out[0], "abc", 3);
	assert_int_equal(add("{\"event\":\"stdout\",\"data\":\"a*\",\"encoding\":\"base64\"}\n"),
	                 -1);
}

TEST(a_line_may_come_byte_by_byte)
{
	const char *line = "{\"event\":\"stdout\",\"data\":\"x\"}\n";

	for (; *line; line++)
		assert_int_equal(session_events_add(&f.events, (struct span){line, 1}, &err), 0);
	expect(f.out[0], "x", 1);
	assert_int_equal(f.events.lines.pending.size, 0);
}

TEST(the_exit_status_is_the_commands)
{
	static const struct {
		const char *event;
		int status;
	} rows[] = {
	        {"{\"event\":\"exit\",\"exit_code\":0}\n", 0},
	        {"{\"event\":\"exit\",\"exit_code\":42}\n", 42},
	        {"{\"event\":\"exit\",\"exit_code\":137,\"signal\":\"SIGKILL\"}\n", 137},
	        {"{\"event\":\"exit\",\"exit_code\":137,\"timed_out\":true}\n", 124},
	        {"{\"event\":\"exit\",\"exit_code\":-1}\n", 255},
	        {"{\"event\":\"exit\",\"exit_code\":1000}\n", 255},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		f.events.ended = false;
		assert_int_equal(add(rows[i].event), 0);
		assert_true(f.events.ended);
		assert_int_equal(f.events.status, rows[i].status);
	}
}

TEST(a_resumed_stream_starts_the_helpers_once)
{
	assert_int_equal(add("{\"event\":\"started\",\"process\":7}\n"), 0);
	assert_int_equal(add("{\"event\":\"started\",\"process\":7}\n"), 0);
	assert_int_equal(f.starts, 1);
}

TEST(unknown_events_are_passed_over_and_broken_ones_refused)
{
	assert_int_equal(add("\n{\"event\":\"later\",\"since\":\"9.9\"}\n{}\n"), 0);
	assert_string_equal(f.events.since, "9.9");
	assert_int_equal(add("not json\n"), -1);
	assert_non_null(strstr(err.text, "server's events"));
}

TEST(output_that_nobody_takes_ends_the_stream)
{
	assert_int_equal(close(f.out[1]), 0);
	assert_int_equal(add("{\"event\":\"stdout\",\"data\":\"x\",\"since\":\"1.0\"}\n"), -1);
	assert_string_equal(f.events.since, "0.0");
	f.out[1] = -1;
}

TEST(the_environment_is_checked_and_completed)
{
	const char *json;

	assert_int_equal(setenv("ATOLL_TEST_VALUE", "from \"here\"", 1), 0);
	assert_int_equal(session_env_json(&arena,
	                                  (const char *const[]){"A=1", "B=x=y",
	                                                        "C=", "ATOLL_TEST_VALUE", NULL},
	                                  &json, &err),
	                 0);
	assert_string_equal(json, "{\"A\":\"1\",\"B\":\"x=y\",\"C\":\"\","
	                          "\"ATOLL_TEST_VALUE\":\"from \\\"here\\\"\"}");
	assert_int_equal(session_env_json(&arena, NULL, &json, &err), 0);
	assert_string_equal(json, "{}");
	assert_int_equal(session_env_json(&arena, (const char *const[]){"=1", NULL}, &json, &err),
	                 -1);
	assert_int_equal(
	        session_env_json(&arena, (const char *const[]){"ATOLL_NOT_SET", NULL}, &json, &err),
	        -1);
	assert_string_equal(err.text, "variable 'ATOLL_NOT_SET' is not set here");
}

TEST(the_body_carries_the_words_without_a_shell)
{
	struct session_options options = {
	        .args = (const char *[]){"sh", "-c", "echo \"$1\"", NULL},
	        .cwd = "/tmp",
	        .user = "root",
	        .env = (const char *const[]){"A=b", NULL},
	        .timeout_ms = 1500,
	};

	assert_string_equal(
	        session_body(&arena, &options, true),
	        "{\"cmd\":\"sh\",\"args\":[\"-c\",\"echo \\\"$1\\\"\"],\"cwd\":\"/tmp\","
	        "\"user\":\"root\",\"env\":{\"A\":\"b\"},\"stdin_open\":true,"
	        "\"timeout_ms\":1500}");
	options = (struct session_options){.args = (const char *[]){"true", NULL}};
	assert_string_equal(session_body(&arena, &options, false),
	                    "{\"cmd\":\"true\",\"args\":[],\"stdin_open\":false,"
	                    "\"timeout_ms\":604800000}");
}

TEST(a_blocked_signal_waits_to_be_asked_for)
{
	session_block_signals();
	assert_false(session_was_interrupted());
	assert_int_equal(raise(SIGINT), 0);
	assert_true(session_was_interrupted());
	assert_false(session_was_interrupted());
}

#define EVENTS_CASE(name) cmocka_unit_test_setup_teardown(name, open_events, close_events)

int main(void)
{
	const struct CMUnitTest cases[] = {
	        EVENTS_CASE(output_goes_where_it_belongs),
	        EVENTS_CASE(bytes_that_are_no_text_come_as_base64),
	        EVENTS_CASE(a_line_may_come_byte_by_byte),
	        EVENTS_CASE(the_exit_status_is_the_commands),
	        EVENTS_CASE(a_resumed_stream_starts_the_helpers_once),
	        EVENTS_CASE(unknown_events_are_passed_over_and_broken_ones_refused),
	        EVENTS_CASE(output_that_nobody_takes_ends_the_stream),
	        EVENTS_CASE(the_environment_is_checked_and_completed),
	        EVENTS_CASE(the_body_carries_the_words_without_a_shell),
	        EVENTS_CASE(a_blocked_signal_waits_to_be_asked_for),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
