/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "unit.h"

#include "base/bytes.h"
#include "http/message/body.h"

/* Reads the body in pieces of `step` bytes; what is left over is put into *ret_rest. */
static enum body_result read_all(const char *text, size_t step, struct buf *out, size_t *ret_rest)
{
	struct body_reader body;
	size_t size = strlen(text);

	body_start(&body, true, -1);
	for (size_t at = 0; at < size; at += step) {
		struct span data = {text + at, size - at < step ? size - at : step}, piece;
		enum body_result result;

		while ((result = body_next(&body, &data, &piece)) == BODY_PIECE)
			buf_add_span(out, piece);
		if (result != BODY_MORE) {
			*ret_rest = size - at - step + data.size;
			if (size - at < step)
				*ret_rest = data.size;
			return result;
		}
	}
	return BODY_MORE;
}

TEST(a_body_with_a_length_ends_after_it)
{
	struct body_reader body;
	struct span data = SPAN("abcdeNEXT"), piece;

	body_start(&body, false, 5);
	assert_int_equal(body_next(&body, &data, &piece), BODY_PIECE);
	assert_true(span_equals_text(piece, "abcde"));
	assert_int_equal(body_next(&body, &data, &piece), BODY_END);
	assert_true(span_equals_text(data, "NEXT"));
}

TEST(no_length_means_no_body)
{
	struct body_reader body;
	struct span data = SPAN("NEXT"), piece;

	body_start(&body, false, -1);
	assert_int_equal(body_next(&body, &data, &piece), BODY_END);
	assert_int_equal(data.size, 4);
}

TEST(chunks_are_joined_however_they_are_cut)
{
	static const char text[] = "3\r\nabc\r\n00A;x=\"y\"\r\n0123456789\r\n0\r\nT: v\r\n\r\nNEXT";

	for (size_t step = 1; step <= sizeof(text); step++) {
		AUTO(buf_done) struct buf out = BUF(100);
		size_t rest = 0;

		assert_int_equal(read_all(text, step, &out, &rest), BODY_END);
		assert_string_equal(buf_text(&out), "abc0123456789");
		if (step == sizeof(text))
			assert_int_equal(rest, 4);
	}
}

TEST(lines_of_the_trailer_section_are_kept_for_who_wants_them)
{
	static const char text[] = "1\r\na\r\n0\r\nA: 1\r\nB:2\r\n\r\nNEXT";
	AUTO(buf_done) struct buf lines = BUF(BODY_TRAILER_LINES_MAX);
	struct span data = SPAN(text), piece;
	struct body_reader body;

	body_start(&body, true, -1);
	body.trailers = &lines;
	assert_int_equal(body_next(&body, &data, &piece), BODY_PIECE);
	assert_int_equal(body_next(&body, &data, &piece), BODY_END);
	assert_string_equal(buf_text(&lines), "A: 1\r\nB:2\r\n");
	assert_true(span_equals_text(data, "NEXT"));
	body_start(&body, true, -1);
	assert_null(body.trailers);
}

TEST(malformed_chunks_are_refused)
{
	static const char *const texts[] = {
	        "\r\n",
	        "g\r\n",
	        "-1\r\n",
	        "+1\r\na\r\n",
	        "0x1\r\na\r\n",
	        " 1\r\na\r\n",
	        "1 \r\na\r\n",
	        "1\na\r\n",
	        "1\ra\r\n",
	        "1\r\r\na\r\n",
	        "1\r\nab\r\n",
	        "1\r\na\n0\r\n\r\n",
	        "1\r\na\r0",
	        "1\r\naXX",
	        "1000000000000000\r\n",
	        "fffffffffffffffff\r\n",
	        "1;a\x01\r\na\r\n",
	        "1;a\nb\r\na\r\n",
	        "0\r\nno colon\r\n\r\n",
	        "0\r\n folded: x\r\n\r\n",
	        "0\r\n: x\r\n\r\n",
	        "0\r\na: b\n\r\n",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		for (size_t step = 1; step < 20; step += 18) {
			AUTO(buf_done) struct buf out = BUF(100);
			size_t rest;

			if (read_all(texts[i], step, &out, &rest) != BODY_BAD)
				fail_msg("accepted: %s", texts[i]);
		}
	}
}

TEST(long_extensions_and_trailers_are_refused)
{
	AUTO(buf_done) struct buf text = BUF(100000), out = BUF(100);
	size_t rest;

	buf_add_text(&text, "1;");
	for (int i = 0; i < BODY_LINE_MAX; i++)
		buf_add_byte(&text, 'x');
	buf_add_text(&text, "\r\na\r\n0\r\n\r\n");
	assert_int_equal(read_all(buf_text(&text), 1000, &out, &rest), BODY_BAD);
	buf_reset(&text);
	buf_add_text(&text, "0\r\n");
	for (int i = 0; i < BODY_TRAILERS_MAX / 4; i++)
		buf_add_text(&text, "a: bc\r\n");
	assert_int_equal(read_all(buf_text(&text), 1000, &out, &rest), BODY_BAD);
}

int main(void)
{
	return RUN(CASE(a_body_with_a_length_ends_after_it), CASE(no_length_means_no_body),
	           CASE(chunks_are_joined_however_they_are_cut),
	           CASE(lines_of_the_trailer_section_are_kept_for_who_wants_them),
	           CASE(malformed_chunks_are_refused),
	           CASE(long_extensions_and_trailers_are_refused));
}
