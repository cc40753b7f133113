/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/output.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "wire/agent.h"

static struct agent_output stdout_at(uint64_t offset, const char *data, size_t size)
{
	return (struct agent_output){AGENT_STDOUT, offset, {data, size}};
}

static const uint64_t from_start[2] = {0, 0};

/* ---- choosing a form ---- */

TEST(the_query_decides_before_the_accept_header)
{
	enum output_form form;
	struct error err;

	assert_int_equal(
	        output_form_parse("ndjson", "text/event-stream", OUTPUT_RESULT, &form, &err), 0);
	assert_int_equal(form, OUTPUT_NDJSON);
	assert_int_equal(output_form_parse(NULL, "text/event-stream", OUTPUT_RESULT, &form, &err),
	                 0);
	assert_int_equal(form, OUTPUT_SSE);
	assert_int_equal(output_form_parse(NULL, "*/*", OUTPUT_SSE, &form, &err), 0);
	assert_int_equal(form, OUTPUT_SSE);
	assert_int_equal(output_form_parse(NULL, NULL, OUTPUT_TEXT, &form, &err), 0);
	assert_int_equal(form, OUTPUT_TEXT);
}

TEST(an_unknown_form_is_refused)
{
	enum output_form form = OUTPUT_SSE;
	struct error err;

	assert_int_equal(output_form_parse("xml", NULL, OUTPUT_RESULT, &form, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(form, OUTPUT_SSE);
}

TEST(since_is_read_back_as_it_is_told)
{
	uint64_t since[2] = {9, 9};
	struct error err;

	assert_int_equal(output_since_parse(SPAN("12.34"), since, &err), 0);
	assert_int_equal(since[0], 12);
	assert_int_equal(since[1], 34);
	assert_int_equal(output_since_parse(SPAN("5"), since, &err), 0);
	assert_int_equal(since[0], 5);
	assert_int_equal(since[1], 0);
}

TEST(a_since_of_another_kind_is_refused)
{
	static const char *const bad[] = {
	        "", "x", "1.", ".1", "1.2.3", "-1", "1.99999999999999999999"};
	uint64_t since[2];
	struct error err;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(output_since_parse(span_of(bad[i]), since, &err), -1);
}

/* ---- events ---- */

TEST(ndjson_events_have_offsets_and_a_place_to_resume_from)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct agent_process p = {.process = 3, .pid = 7};
	struct agent_output o = stdout_at(0, "hello\n", 6);
	struct agent_output e = {AGENT_STDERR, 0, SPAN("no")};
	struct output_events events;

	output_events_init(&events, OUTPUT_NDJSON, from_start);
	output_events_started(&events, &out, &p);
	output_events_bytes(&events, &out, &o);
	output_events_bytes(&events, &out, &e);
	p.exit_code = 137;
	p.signal = 9;
	p.timed_out = 1;
	p.duration_ms = 12;
	output_events_exit(&events, &out, &p, NULL);
	assert_string_equal(
	        buf_text(&out),
	        "{\"event\":\"started\",\"process\":3,\"pid\":7,\"since\":\"0.0\"}\n"
	        "{\"event\":\"stdout\",\"offset\":0,\"data\":\"hello\\n\",\"since\":\"6.0\"}\n"
	        "{\"event\":\"stderr\",\"offset\":0,\"data\":\"no\",\"since\":\"6.2\"}\n"
	        "{\"event\":\"exit\",\"process\":3,\"ok\":false,\"exit_code\":137,"
	        "\"signal\":\"SIGKILL\",\"timed_out\":true,\"cause\":\"timeout\",\"duration_ms\":"
	        "12,\"since\":\"6.2\"}"
	        "\n");
}

TEST(server_sent_events_carry_the_place_as_their_id)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct agent_output o = stdout_at(0, "a\nb", 3);
	struct output_events events;

	output_events_init(&events, OUTPUT_SSE, from_start);
	output_events_bytes(&events, &out, &o);
	output_events_idle(&events, &out);
	assert_string_equal(buf_text(&out),
	                    "id: 3.0\nevent: stdout\ndata: {\"event\":\"stdout\",\"offset\":0,"
	                    "\"data\":\"a\\nb\",\"since\":\"3.0\"}\n\n: still here\n\n");
}

TEST(a_character_that_is_split_over_chunks_is_told_whole)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct agent_output first = stdout_at(0, "a\xE2\x82", 3);
	struct agent_output second = stdout_at(3,
	                                       "\xAC"
	                                       "b",
	                                       2);
	struct output_events events;

	output_events_init(&events, OUTPUT_NDJSON, from_start);
	output_events_bytes(&events, &out, &first);
	assert_string_equal(buf_text(&out), "{\"event\":\"stdout\",\"offset\":0,\"data\":\"a\","
	                                    "\"since\":\"1.0\"}\n");
	buf_reset(&out);
	output_events_bytes(&events, &out, &second);
	assert_string_equal(
	        buf_text(&out),
	        "{\"event\":\"stdout\",\"offset\":1,\"data\":\"\xE2\x82\xAC\","
	        "\"since\":\"4.0\"}\n"
	        "{\"event\":\"stdout\",\"offset\":4,\"data\":\"b\",\"since\":\"5.0\"}\n");
}

TEST(a_begun_character_that_never_ends_is_told_as_bytes)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct agent_output first = stdout_at(0, "\xE2\x82", 2);
	struct agent_process p = {.process = 1};
	struct output_events events;

	output_events_init(&events, OUTPUT_NDJSON, from_start);
	output_events_bytes(&events, &out, &first);
	assert_int_equal(out.size, 0);
	output_events_exit(&events, &out, &p, NULL);
	assert_non_null(strstr(buf_text(&out), "\"data\":\"4oI=\",\"encoding\":\"base64\""));
	assert_non_null(strstr(buf_text(&out), "\"since\":\"2.0\"}\n{\"event\":\"exit\""));
}

TEST(an_error_ends_the_events_after_all_bytes)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct agent_output first = stdout_at(0, "\xE2\x82", 2);
	struct output_events events;
	struct error err = {0};

	(void)FAIL(&err, ERROR_UNAVAILABLE, "it ended");
	output_events_init(&events, OUTPUT_NDJSON, from_start);
	output_events_bytes(&events, &out, &first);
	output_events_error(&events, &out, &err);
	assert_non_null(strstr(buf_text(&out),
	                       "\"since\":\"2.0\"}\n"
	                       "{\"event\":\"error\",\"error\":{\"code\":\"unavailable\","
	                       "\"message\":\"it ended\"},\"since\":\"2.0\"}\n"));
}

TEST(a_begun_character_followed_by_another_is_told_as_bytes)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct agent_output first = stdout_at(0, "\xC3", 1), second = stdout_at(1, "x", 1);
	struct output_events events;

	output_events_init(&events, OUTPUT_NDJSON, from_start);
	output_events_bytes(&events, &out, &first);
	output_events_bytes(&events, &out, &second);
	assert_non_null(strstr(buf_text(&out), "\"offset\":0,\"data\":\"ww==\""));
	assert_non_null(strstr(buf_text(&out), "\"offset\":1,\"data\":\"x\""));
}

TEST(a_jump_in_the_offsets_is_told_as_it_is)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct agent_output first = stdout_at(0, "a\xC3", 2), second = stdout_at(100, "z", 1);
	struct output_events events;

	output_events_init(&events, OUTPUT_NDJSON, from_start);
	output_events_bytes(&events, &out, &first);
	output_events_bytes(&events, &out, &second);
	assert_non_null(strstr(buf_text(&out), "\"offset\":1,\"data\":\"ww==\""));
	assert_non_null(
	        strstr(buf_text(&out), "\"offset\":100,\"data\":\"z\",\"since\":\"101.0\""));
}

/* However a text is cut into chunks, the pieces told are the same bytes in the same places. */
TEST(every_way_to_cut_a_text_tells_the_same_bytes)
{
	static const char text[] = "a\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80\xFF z";
	size_t size = sizeof(text) - 1;

	for (unsigned cuts = 0; cuts < 1u << (size - 1); cuts += 7) {
		AUTO(buf_done) struct buf out = BUF(64 * 1024);
		struct agent_process p = {.process = 1};
		struct output_events events;
		size_t start = 0;

		output_events_init(&events, OUTPUT_TEXT, from_start);
		for (size_t at = 1; at <= size; at++) {
			struct agent_output o = stdout_at(start, text + start, at - start);

			if (at < size && !(cuts >> (at - 1) & 1))
				continue;
			output_events_bytes(&events, &out, &o);
			start = at;
		}
		output_events_exit(&events, &out, &p, NULL);
		assert_int_equal(out.size, size);
		assert_memory_equal(out.data, text, size);
	}
}

/* ---- collected ---- */

static void add(struct output_collector *c, const char *text)
{
	struct agent_output o = {AGENT_STDOUT, c->streams[0].total, span_of(text)};

	output_collector_add(c, &o);
}

TEST(what_fits_is_kept_whole)
{
	AUTO(output_collector_done) struct output_collector c;
	AUTO(buf_done) struct buf out = BUF(256);

	output_collector_init(&c, 10);
	add(&c, "01234");
	add(&c, "56");
	add(&c, "789");
	head_tail_join(&c.streams[0], &out);
	assert_string_equal(buf_text(&out), "0123456789");
	assert_int_equal(head_tail_cut_count(&c.streams[0]), 0);
}

TEST(what_does_not_fit_is_cut_in_the_middle_with_a_marker)
{
	AUTO(output_collector_done) struct output_collector c;
	AUTO(buf_done) struct buf out = BUF(256);

	output_collector_init(&c, 10);
	add(&c, "0123456789");
	add(&c, "ABC");
	add(&c, "DEFGHIJ");
	head_tail_join(&c.streams[0], &out);
	assert_string_equal(buf_text(&out), "01234\n[10 bytes of output were cut here]\nFGHIJ");
	buf_reset(&out);
	output_collector_write(&c, &(struct agent_process){.process = 1}, "bash", &out);
	assert_non_null(strstr(buf_text(&out), "\"truncated\":true"));
}

TEST(the_cut_leaves_no_half_characters)
{
	AUTO(output_collector_done) struct output_collector c;
	AUTO(buf_done) struct buf out = BUF(256);

	output_collector_init(&c, 6);
	add(&c, "a\xC3\xBC\xC3\xBC\xC3\xBC\xC3\xBC\xC3\xBC\xC3\xBC"
	        "z");
	head_tail_join(&c.streams[0], &out);
	assert_true(span_is_utf8(buf_span(&out)));
	assert_string_equal(buf_text(&out), "a\xC3\xBC\n[8 bytes of output were cut here]\n\xC3\xBC"
	                                    "z");
}

TEST(the_tail_is_right_for_every_size_of_pieces)
{
	char text[100];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('!' + i % 90);
	for (size_t piece = 1; piece < 40; piece++) {
		AUTO(output_collector_done) struct output_collector c;
		AUTO(buf_done) struct buf out = BUF(256);

		output_collector_init(&c, 16);
		for (size_t at = 0; at < sizeof(text); at += piece) {
			size_t size = sizeof(text) - at < piece ? sizeof(text) - at : piece;
			struct agent_output o = stdout_at(at, text + at, size);

			output_collector_add(&c, &o);
		}
		head_tail_join(&c.streams[0], &out);
		assert_memory_equal(out.data, text, 8);
		assert_memory_equal(out.data + out.size - 8, text + sizeof(text) - 8, 8);
	}
}

TEST(a_result_tells_all_that_the_contract_names)
{
	AUTO(output_collector_done) struct output_collector c;
	AUTO(buf_done) struct buf out = BUF(4096);
	struct agent_process p = {.process = 2, .exit_code = 0, .duration_ms = 3};
	struct agent_output e = {AGENT_STDERR, 0, SPAN("\xFF")};

	output_collector_init(&c, 100);
	add(&c, "hi\n");
	output_collector_add(&c, &e);
	output_collector_write(&c, &p, "bash", &out);
	assert_string_equal(
	        buf_text(&out),
	        "{\"ok\":true,\"runtime\":\"bash\",\"process\":2,\"exit_code\":0,"
	        "\"signal\":null,\"timed_out\":false,\"cause\":\"exit\",\"duration_ms\":3,"
	        "\"stdout\":\"hi\\n\",\"stderr\":\"/w==\","
	        "\"stderr_encoding\":\"base64\",\"truncated\":false");
}

TEST(a_limit_of_one_byte_works)
{
	AUTO(output_collector_done) struct output_collector one;
	AUTO(buf_done) struct buf out = BUF(256);

	output_collector_init(&one, 1);
	add(&one, "abc");
	head_tail_join(&one.streams[0], &out);
	assert_string_equal(buf_text(&out), "a\n[1 bytes of output were cut here]\nc");
}

TEST(bytes_lost_before_we_attached_count_as_cut)
{
	AUTO(output_collector_done) struct output_collector c;
	struct agent_output o = stdout_at(50, "x", 1);

	output_collector_init(&c, 100);
	output_collector_add(&c, &o);
	assert_int_equal(head_tail_cut_count(&c.streams[0]), 50);
}

int main(void)
{
	return RUN(
	        CASE(the_query_decides_before_the_accept_header), CASE(an_unknown_form_is_refused),
	        CASE(since_is_read_back_as_it_is_told), CASE(a_since_of_another_kind_is_refused),
	        CASE(ndjson_events_have_offsets_and_a_place_to_resume_from),
	        CASE(server_sent_events_carry_the_place_as_their_id),
	        CASE(a_character_that_is_split_over_chunks_is_told_whole),
	        CASE(a_begun_character_that_never_ends_is_told_as_bytes),
	        CASE(an_error_ends_the_events_after_all_bytes),
	        CASE(a_begun_character_followed_by_another_is_told_as_bytes),
	        CASE(a_jump_in_the_offsets_is_told_as_it_is),
	        CASE(every_way_to_cut_a_text_tells_the_same_bytes), CASE(what_fits_is_kept_whole),
	        CASE(what_does_not_fit_is_cut_in_the_middle_with_a_marker),
	        CASE(the_cut_leaves_no_half_characters),
	        CASE(the_tail_is_right_for_every_size_of_pieces),
	        CASE(a_result_tells_all_that_the_contract_names), CASE(a_limit_of_one_byte_works),
	        CASE(bytes_lost_before_we_attached_count_as_cut));
}
