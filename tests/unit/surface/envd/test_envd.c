/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>

#include "surface/envd/access.h"
#include "surface/envd/connect.h"
#include "surface/envd/events.h"
#include "unit.h"
#include "wire/agent.h"

/* ---- envelopes ---- */

TEST(an_envelope_is_cut_when_it_is_whole)
{
	static const char bytes[] = "\0\0\0\0\2{}\2\0\0\0\3abcd";
	struct span whole = {bytes, sizeof(bytes) - 2}, message, in;
	unsigned flags = 9;
	struct error err;

	for (size_t size = 0; size < 7; size++) {
		in = (struct span){bytes, size};
		assert_int_equal(connect_take_envelope(&in, &flags, &message, &err), 0);
		assert_int_equal(in.size, size);
	}
	assert_int_equal(connect_take_envelope(&whole, &flags, &message, &err), 1);
	assert_int_equal(flags, 0);
	assert_true(span_equals_text(message, "{}"));
	assert_int_equal(connect_take_envelope(&whole, &flags, &message, &err), 1);
	assert_int_equal(flags, CONNECT_END);
	assert_true(span_equals_text(message, "abc"));
	assert_int_equal(whole.size, 0);
}

TEST(envelopes_that_are_compressed_strange_or_huge_are_refused)
{
	static const struct {
		char bytes[6];
		enum error_code code;
	} cases[] = {{"\1\0\0\0\0", ERROR_UNSUPPORTED},
	             {"\4\0\0\0\0", ERROR_INVALID},
	             {"\0\0\100\0\1", ERROR_TOO_LARGE},
	             {"\0\377\377\377\377", ERROR_TOO_LARGE}};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct span in = {cases[i].bytes, CONNECT_HEAD_SIZE}, message;
		unsigned flags;
		struct error err;

		assert_int_equal(connect_take_envelope(&in, &flags, &message, &err), -1);
		assert_int_equal(err.code, cases[i].code);
	}
}

TEST(a_request_is_exactly_one_message)
{
	static const struct {
		const char *bytes;
		size_t size;
		int result;
	} cases[] = {{"\0\0\0\0\2{}", 7, 0},  {"\0\0\0\0\0", 5, 0},     {"", 0, -1},
	             {"\0\0\0\0\3{}", 7, -1}, {"\0\0\0\0\2{}x", 8, -1}, {"\2\0\0\0\2{}", 7, -1}};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct span message;
		struct error err;

		assert_int_equal(connect_read_single((struct span){cases[i].bytes, cases[i].size},
		                                     &message, &err),
		                 cases[i].result);
	}
}

TEST(written_envelopes_are_read_back)
{
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	struct span in, message;
	size_t begun = connect_begin_envelope(&out);
	unsigned flags;
	struct error err;

	for (int i = 0; i < 70000; i++)
		buf_add_byte(&out, 'x');
	connect_end_envelope(&out, begun, 0);
	connect_write_end(&out, NULL);
	in = buf_span(&out);
	assert_int_equal(connect_take_envelope(&in, &flags, &message, &err), 1);
	assert_int_equal(message.size, 70000);
	assert_int_equal(connect_take_envelope(&in, &flags, &message, &err), 1);
	assert_int_equal(flags, CONNECT_END);
	assert_true(span_equals_text(message, "{}"));
}

TEST(an_error_ends_a_stream_with_its_code)
{
	AUTO(buf_done) struct buf out = BUF(1024);
	struct span in, message;
	struct error err, cut;
	unsigned flags;

	(void)FAIL(&err, ERROR_NOT_FOUND, "no \"such\" process");
	connect_write_end(&out, &err);
	in = buf_span(&out);
	assert_int_equal(connect_take_envelope(&in, &flags, &message, &cut), 1);
	assert_true(span_equals_text(message, "{\"error\":{\"code\":\"not_found\",\"message\":"
	                                      "\"no \\\"such\\\" process\"}}"));
}

TEST(a_message_that_does_not_fit_leaves_the_buffer_unchanged)
{
	AUTO(buf_done) struct buf out = BUF(8);
	size_t begun = connect_begin_envelope(&out);

	buf_add_text(&out, "too long");
	connect_end_envelope(&out, begun, 0);
	assert_true(out.overflowed);
}

TEST(a_timeout_has_ten_digits_at_most)
{
	struct error err;
	int64_t ms = 7;

	assert_int_equal(connect_timeout_parse(NULL, &ms, &err), 0);
	assert_int_equal(ms, 0);
	assert_int_equal(connect_timeout_parse("60000", &ms, &err), 0);
	assert_int_equal(ms, 60000);
	assert_int_equal(connect_timeout_parse("9999999999", &ms, &err), 0);
	assert_int_equal(connect_timeout_parse("10000000000", &ms, &err), -1);
	assert_int_equal(connect_timeout_parse("-1", &ms, &err), -1);
	assert_int_equal(connect_timeout_parse("", &ms, &err), -1);
}

/* ---- events of a process ---- */

static void check_end(const struct agent_process *p, const char *expected)
{
	AUTO(buf_done) struct buf out = BUF(1024);

	events_write_end(&out, p);
	assert_string_equal(buf_text(&out) + CONNECT_HEAD_SIZE, expected);
}

TEST(an_end_reports_the_exit_code_or_the_signal)
{
	check_end(&(struct agent_process){.exit_code = 0},
	          "{\"event\":{\"end\":{\"exited\":true,\"status\":\"exit status 0\"}}}");
	check_end(
	        &(struct agent_process){.exit_code = 3},
	        "{\"event\":{\"end\":{\"exited\":true,\"exitCode\":3,\"status\":\"exit status 3\","
	        "\"error\":\"exit status 3\"}}}");
	check_end(&(struct agent_process){.exit_code = 137, .signal = SIGKILL},
	          "{\"event\":{\"end\":{\"exitCode\":-1,\"status\":\"signal: killed\","
	          "\"error\":\"signal: killed\"}}}");
	check_end(&(struct agent_process){.exit_code = 128 + 40, .signal = 40},
	          "{\"event\":{\"end\":{\"exitCode\":-1,\"status\":\"signal: signal 40\","
	          "\"error\":\"signal: signal 40\"}}}");
}

TEST(output_is_base64)
{
	AUTO(buf_done) struct buf out = BUF(1024);

	events_write_data(&out, "pty", (struct span){"\0\377", 2});
	assert_string_equal(buf_text(&out) + CONNECT_HEAD_SIZE,
	                    "{\"event\":{\"data\":{\"pty\":\"AP8=\"}}}");
}

/* ---- signatures ---- */

#define TOKEN "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0"

TEST(signatures_are_equal_to_those_of_clients)
{
	const struct signed_file file = {"hello.txt", "read", "user", NULL};
	char text[SIGNATURE_SIZE];

	signature_make(&file, TOKEN, text);
	assert_string_equal(text, "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
	assert_true(signature_matches(&file, TOKEN, span_of(text)));
}

TEST(another_path_user_operation_time_or_token_has_another_signature)
{
	const struct signed_file file = {"hello.txt", "read", "user", "100"};
	const struct signed_file others[] = {{"hello.txt2", "read", "user", "100"},
	                                     {"hello.txt", "write", "user", "100"},
	                                     {"hello.txt", "read", "root", "100"},
	                                     {"hello.txt", "read", "user", "101"},
	                                     {"hello.txt", "read", "user", NULL}};
	char text[SIGNATURE_SIZE];

	signature_make(&file, TOKEN, text);
	for (size_t i = 0; i < COUNT_OF(others); i++)
		assert_false(signature_matches(&others[i], TOKEN, span_of(text)));
	assert_false(signature_matches(&file, "another", span_of(text)));
	assert_false(signature_matches(&file, TOKEN, (struct span){text, SIGNATURE_SIZE - 2}));
	assert_false(signature_matches(&file, TOKEN, SPAN("")));
}

TEST(a_signature_expires)
{
	struct signed_file file = {"a", "read", "", "100"};
	struct error err;

	assert_int_equal(signature_check_time(&file, 100, &err), 0);
	assert_int_equal(signature_check_time(&file, 101, &err), -1);
	assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
	file.expiration = "soon";
	assert_int_equal(signature_check_time(&file, 0, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	file.expiration = NULL;
	assert_int_equal(signature_check_time(&file, INT64_MAX, &err), 0);
}

int main(void)
{
	return RUN(CASE(an_envelope_is_cut_when_it_is_whole),
	           CASE(envelopes_that_are_compressed_strange_or_huge_are_refused),
	           CASE(a_request_is_exactly_one_message), CASE(written_envelopes_are_read_back),
	           CASE(an_error_ends_a_stream_with_its_code),
	           CASE(a_message_that_does_not_fit_leaves_the_buffer_unchanged),
	           CASE(a_timeout_has_ten_digits_at_most),
	           CASE(an_end_reports_the_exit_code_or_the_signal), CASE(output_is_base64),
	           CASE(signatures_are_equal_to_those_of_clients),
	           CASE(another_path_user_operation_time_or_token_has_another_signature),
	           CASE(a_signature_expires));
}
