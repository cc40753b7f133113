/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "code/reader.h"
#include "json/json.h"
#include "unit.h"

#define NONCE "0123456789abcdef"
#define MARK "\x1e" NONCE
#define BEGIN MARK ".{\"type\":\"begin\",\"count\":3}\n"
#define END MARK ".{\"type\":\"end\",\"status\":2}\n"

/* What was told, a letter for each event with its text. */
struct told {
	struct buf text;
	char last;
};

static void on_event(void *context, const struct code_event *e)
{
	struct told *t = context;
	static const char letters[] = "BOERXZ";
	char letter = letters[e->kind];

	if (letter != t->last || !strchr("OE", letter))
		buf_addf(&t->text, "|%c ", letter);
	t->last = letter;
	buf_add_span(&t->text, e->text);
	if (e->kind == CODE_BEGIN)
		buf_addf(&t->text, "%d", (int)e->count);
	if (e->kind == CODE_END)
		buf_addf(&t->text, "%d", (int)e->status);
	if (e->kind == CODE_ERROR)
		buf_addf(&t->text, "%s:%s:%s", e->name, e->value, e->traceback);
	if (e->kind == CODE_RESULT)
		json_write(&t->text, &code_result_shape, e->result);
}

static void feed(struct code_reader *r, enum agent_stream stream, struct span bytes, size_t step)
{
	while (bytes.size > 0) {
		struct span piece = {bytes.data, bytes.size < step ? bytes.size : step};

		code_reader_feed(r, stream, piece);
		bytes.data += piece.size;
		bytes.size -= piece.size;
	}
}

static void read_all(struct told *t, struct span bytes, size_t step)
{
	AUTO(code_reader_done) struct code_reader r;

	code_reader_init(&r, NONCE);
	r.on_event = on_event;
	r.context = t;
	feed(&r, AGENT_STDOUT, bytes, step);
	feed(&r, AGENT_STDERR, SPAN(MARK ".\n"), step);
}

static void expect(const char *stream, const char *wanted)
{
	for (size_t step = 1; step < 40; step++) {
		struct told t = {.text = BUF(1 << 16)};

		read_all(&t, span_of(stream), step);
		assert_string_equal(buf_text(&t.text), wanted);
		buf_done(&t.text);
	}
}

TEST(messages_and_output_are_told_in_order_however_the_bytes_come)
{
	expect("noise\n" BEGIN "out " MARK ".{\"type\":\"stderr\",\"text\":\"err\"}\n"
	       "put\n" END "late",
	       "|B 3|O out |E err|O put\n|Z 2");
}

TEST(a_message_in_pieces_is_one)
{
	expect(BEGIN MARK "+{\"type\":\"result\",\"main\":true,\"te\n" MARK
	                  ".xt\":\"t\",\"json\":[1,2]}\n" END,
	       "|B 3|R {\"is_main\":true,\"text\":\"t\",\"json\":[1,2]}|Z 2");
	expect(BEGIN MARK ".{\"type\":\"error\",\"name\":\"E\",\"value\":\"v\"}\n" END,
	       "|B 3|X E:v:|Z 2");
}

TEST(a_piece_without_an_end_hides_no_other)
{
	expect(BEGIN MARK ".{\"type\":" END, "|B 3|O " MARK ".{\"type\":|Z 2");
}

TEST(what_is_no_mark_is_output)
{
	expect(BEGIN "\x1e\x1e" MARK "x" MARK "0.{}\n\x1e"
	             "0123 \x1e" END,
	       "|B 3|O \x1e\x1e" MARK "x" MARK "0.{}\n\x1e"
	       "0123 \x1e|Z 2");
}

TEST(a_character_is_never_told_in_halves)
{
	struct told t = {.text = BUF(1 << 12)};
	AUTO(code_reader_done) struct code_reader r;

	code_reader_init(&r, NONCE);
	r.on_event = on_event;
	r.context = &t;
	code_reader_feed(&r, AGENT_STDOUT, SPAN(BEGIN "a\xe2\x82"));
	assert_string_equal(buf_text(&t.text), "|B 3|O a");
	code_reader_feed(&r, AGENT_STDOUT,
	                 SPAN("\xac"
	                      "b\xe2"));
	assert_string_equal(buf_text(&t.text), "|B 3|O a\xe2\x82\xac"
	                                       "b");
	/* What is begun and never ends comes before what is said next. */
	code_reader_feed(&r, AGENT_STDOUT, SPAN(END));
	assert_string_equal(buf_text(&t.text), "|B 3|O a\xe2\x82\xac"
	                                       "b\xe2|Z 2");
	buf_done(&t.text);
}

TEST(it_is_over_when_both_streams_have_ended)
{
	struct told t = {.text = BUF(1 << 12)};
	AUTO(code_reader_done) struct code_reader r;

	code_reader_init(&r, NONCE);
	r.on_event = on_event;
	r.context = &t;
	code_reader_feed(&r, AGENT_STDOUT, SPAN(END));
	assert_false(code_reader_is_over(&r));
	code_reader_feed(&r, AGENT_STDOUT, SPAN(BEGIN END "more"));
	assert_false(code_reader_is_over(&r));
	code_reader_feed(&r, AGENT_STDERR, SPAN("late" MARK ".\nlater"));
	assert_true(code_reader_is_over(&r));
	assert_string_equal(buf_text(&t.text), "|B 3|Z 2|E late");
	buf_done(&t.text);
}

TEST(a_message_that_is_not_understood_is_left_out_and_told)
{
	static const char *const bad[] = {
	        "{}",
	        "[]",
	        "{\"type\":\"none\"}",
	        "{\"type\":\"result\",\"png\":7}",
	        "{\"type\":\"end\",\"status\":256}",
	        "{\"type\":\"error\",\"name\":\"\\u0000\"}",
	        "{\"type\":\"result\",\"other\":1}",
	};

	for (unsigned i = 0; i < COUNT_OF(bad); i++) {
		struct told t = {.text = BUF(1 << 12)};
		AUTO(buf_done) struct buf stream = BUF(1 << 12);

		buf_addf(&stream, BEGIN MARK ".%s\n" END, bad[i]);
		read_all(&t, buf_span(&stream), 7);
		assert_non_null(strstr(buf_text(&t.text), "|B 3|E atoll: a result is left out: "));
		assert_non_null(strstr(buf_text(&t.text), "|Z 2"));
		buf_done(&t.text);
	}
}

TEST(a_message_that_is_too_long_is_left_out_and_the_next_one_is_told)
{
	struct told t = {.text = BUF(1 << 12)};
	AUTO(buf_done) struct buf piece = BUF(8192);
	AUTO(code_reader_done) struct code_reader r;
	char pad[4000];

	memset(pad, 'x', sizeof(pad));
	buf_addf(&piece, MARK "+");
	buf_add(&piece, pad, sizeof(pad));
	buf_add_byte(&piece, '\n');
	code_reader_init(&r, NONCE);
	r.on_event = on_event;
	r.context = &t;
	code_reader_feed(&r, AGENT_STDOUT, SPAN(BEGIN));
	for (size_t i = 0; i < (CODE_MESSAGE_MAX + (1 << 20)) / sizeof(pad); i++) {
		code_reader_feed(&r, AGENT_STDOUT, buf_span(&piece));
		assert_true(r.message.size <= CODE_MESSAGE_MAX);
	}
	code_reader_feed(&r, AGENT_STDOUT, SPAN(MARK ".\n" END));
	assert_string_equal(buf_text(&t.text),
	                    "|B 3|E atoll: a result is left out: it is longer than 16 MiB\n|Z 2");
	buf_done(&t.text);
}

static void expect_text(const struct code_event *event, const char *wanted, bool wanted_whole)
{
	bool is_whole = !wanted_whole;
	struct span text = code_event_text(event, &is_whole);

	assert_true(span_equals(text, span_of(wanted)));
	assert_int_equal(is_whole, wanted_whole);
}

TEST(the_text_of_an_event_is_what_a_person_reads)
{
	const struct code_result value = {.text = "42", .html = "<b>42</b>"}, image = {.png = "x"};

	expect_text(&(struct code_event){.kind = CODE_STDERR, .text = SPAN("a")}, "a", false);
	expect_text(&(struct code_event){.kind = CODE_RESULT, .result = &value}, "42", true);
	expect_text(&(struct code_event){.kind = CODE_RESULT, .result = &image}, "", true);
	expect_text(&(struct code_event){CODE_ERROR, .value = "v", .traceback = "t"}, "t", true);
	expect_text(&(struct code_event){CODE_ERROR, .value = "v", .traceback = ""}, "v", true);
	expect_text(&(struct code_event){.kind = CODE_END, .status = 3}, "", false);
}

int main(void)
{
	return RUN(CASE(messages_and_output_are_told_in_order_however_the_bytes_come),
	           CASE(a_message_in_pieces_is_one), CASE(a_piece_without_an_end_hides_no_other),
	           CASE(what_is_no_mark_is_output), CASE(a_character_is_never_told_in_halves),
	           CASE(it_is_over_when_both_streams_have_ended),
	           CASE(a_message_that_is_not_understood_is_left_out_and_told),
	           CASE(a_message_that_is_too_long_is_left_out_and_the_next_one_is_told),
	           CASE(the_text_of_an_event_is_what_a_person_reads));
}
