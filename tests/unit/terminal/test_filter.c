/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/filter.h"

#include <string.h>

#include "unit.h"

#define ROOM ((size_t)1 << 20)

/* What passes when the bytes come in pieces of this size. */
static void pass(struct span bytes, size_t step, struct buf *out)
{
	struct filter f = {0};

	while (bytes.size > 0) {
		size_t size = bytes.size < step ? bytes.size : step;

		filter_write(&f, (struct span){bytes.data, size}, out);
		bytes.data += size;
		bytes.size -= size;
	}
}

static void assert_passes(struct span in, const char *expected)
{
	for (size_t step = 1; step <= in.size; step++) {
		AUTO(buf_done) struct buf out = BUF(ROOM);

		pass(in, step, &out);
		assert_string_equal(buf_text(&out), expected);
	}
}

struct row {
	struct span in;
	const char *out;
};

static void assert_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_passes(rows[i].in, rows[i].out);
}

TEST(text_and_common_sequences_pass_as_they_are)
{
	static const char *const same[] = {
	        "plain\r\n\ttext\b\a",   "h\xc3\xbc \xe6\xbc\xa2 \xf0\x9f\x98\x80",
	        "\033[1;31mred\033[0m",  "\033[38:2:1:2:3m",
	        "\033[?25l\033[?1049h",  "\033[2J\033[3;7H",
	        "\033(B\0337\0338\033M", "\033[2 q",
	        "\033]0;a title\a",      "\033]2;title\a",
	};

	for (size_t i = 0; i < COUNT_OF(same); i++)
		assert_passes(span_of(same[i]), same[i]);
}

TEST(bytes_that_are_no_text_are_replaced)
{
	static const struct row rows[] = {
	        {SPAN("a\xff"
	              "b"),
	         "a\xef\xbf\xbd"
	         "b"},
	        {SPAN("\x80"), "\xef\xbf\xbd"},
	        {SPAN("\xc3(") /* cut short */, "\xef\xbf\xbd("},
	        {SPAN("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd"},
	        {SPAN("\xe0\x80\xaf") /* too long a form */, "\xef\xbf\xbd"},
	        {SPAN("\xed\xa0\x80") /* half of a pair */, "\xef\xbf\xbd"},
	        {SPAN("\xf4\x90\x80\x80") /* beyond the last */, "\xef\xbf\xbd"},
	        {SPAN("a\xc2\x9b"
	              "1mb") /* an eight-bit control */,
	         "a1mb"},
	        {SPAN("\xe6\xbc\033[m"), "\xef\xbf\xbd\033[m"},
	};

	assert_rows(rows, COUNT_OF(rows));
}

TEST(parameters_are_bounded_in_number_and_size)
{
	AUTO(buf_done) struct buf in = BUF(ROOM), out = BUF(ROOM);
	unsigned separators = 0;

	buf_add_text(&in, "\033[");
	for (int i = 0; i < 100; i++)
		buf_add_text(&in, "1;");
	buf_add_text(&in, "m");
	pass(buf_span(&in), in.size, &out);
	for (const char *c = buf_text(&out); *c; c++)
		separators += *c == ';';
	assert_in_range(separators, 1, 15);
	assert_passes(SPAN("\033[99999999999999999999A"), "\033[9999A");
	assert_passes(SPAN("\033[;5H"), "\033[;5H");
}

TEST(a_repeat_is_written_out_and_bounded)
{
	AUTO(buf_done) struct buf out = BUF(ROOM);
	static const struct row rows[] = {
	        {SPAN("x\033[3b"), "xxxx"},
	        {SPAN("x\033[b"), "xx"},
	        {SPAN("\xe6\xbc\xa2\033[2b"), "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"},
	        {SPAN("\033[5b") /* of nothing */, ""},
	        {SPAN("x\r\033[1b"), "x\rx"},
	};

	assert_rows(rows, COUNT_OF(rows));
	pass(SPAN("x\033[9999b"), 99, &out);
	assert_int_equal(out.size, 1 + 500);
}

TEST(strings_other_than_titles_are_dropped)
{
	static const struct row rows[] = {
	        {SPAN("a\033]52;c;aGk=\ab") /* the clipboard */, "ab"},
	        {SPAN("a\033]8;;http://x\033\\b"), "ab"},
	        {SPAN("a\033P1$r0m\033\\b"), "ab"},
	        {SPAN("a\033_app\033\\b\033^pm\033\\c\033Xsos\033\\d"), "abcd"},
	        {SPAN("a\033]0;b\033\\c"), "a\033]0;b\ac"},
	        {SPAN("a\033]0;\xff\ab") /* no text */, "ab"},
	        {SPAN("a\033]1;icon\ab"), "ab"},
	        {SPAN("a\033]0;cut\030b") /* cancelled */, "ab"},
	        {SPAN("a\033]0;cut\033[1mb") /* another sequence */, "a\033[1mb"},
	        {SPAN("a\033]0;x\033]0;y\ab"), "a\033]0;y\ab"},
	};

	assert_rows(rows, COUNT_OF(rows));
}

TEST(a_sequence_ends_by_a_cancel_or_a_new_one)
{
	static const struct row rows[] = {
	        {SPAN("\033[1\030x"), "x"},
	        {SPAN("\033[1\032x"), "x"},
	        {SPAN("\033[1\033[2mx"), "\033[2mx"},
	        {SPAN("\033\033[2mx"), "\033[2mx"},
	        {SPAN("\033[1\r2mx") /* a control inside works at once */, "\r\033[12mx"},
	        {SPAN("\033[1\xc3\xbcx"), "\xef\xbf\xbdx"},
	};

	assert_rows(rows, COUNT_OF(rows));
}

TEST(what_is_longer_than_a_sequence_may_be_is_dropped)
{
	AUTO(buf_done) struct buf in = BUF(ROOM), out = BUF(ROOM);

	buf_add_text(&in, "a\033]0;");
	for (int i = 0; i < 2 * FILTER_HELD_MAX; i++)
		buf_add_byte(&in, 't');
	buf_add_text(&in, "\ab\033[");
	for (int i = 0; i < 2 * FILTER_HELD_MAX; i++)
		buf_add_byte(&in, '0');
	buf_add_text(&in, "mc");
	pass(buf_span(&in), 7, &out);
	assert_string_equal(buf_text(&out), "abc");
}

TEST(accents_without_an_end_are_broken_up)
{
	AUTO(buf_done) struct buf in = BUF(ROOM), out = BUF(ROOM);
	size_t longest = 0, run = 0;

	for (int i = 0; i < 20000; i++)
		buf_add_text(&in, "\xcc\x81");
	pass(buf_span(&in), in.size, &out);
	for (size_t i = 0; i < out.size; i++) {
		run = out.data[i] == ' ' ? 0 : run + 1;
		longest = run > longest ? run : longest;
	}
	assert_in_range(longest, 2, 2 * 4096);
}

TEST(no_byte_grows_by_more_than_is_promised)
{
	static const char pieces[] = "\033[]P;059bmx\xcc\x81\xff\030\a\\";
	uint32_t seed = 1;

	for (int round = 0; round < 200; round++) {
		AUTO(buf_done) struct buf out = BUF(ROOM);
		struct filter f = {0};

		for (int i = 0; i < 400; i++) {
			size_t before = out.size;

			seed = seed * 1664525 + 1013904223;
			filter_write(&f,
			             (struct span){&pieces[(seed >> 16) % (sizeof(pieces) - 1)], 1},
			             &out);
			assert_true(out.size - before <= FILTER_GROWTH_MAX);
		}
		assert_true(span_is_utf8(buf_span(&out)));
		assert_false(out.overflowed);
	}
}

int main(void)
{
	return RUN(CASE(text_and_common_sequences_pass_as_they_are),
	           CASE(bytes_that_are_no_text_are_replaced),
	           CASE(parameters_are_bounded_in_number_and_size),
	           CASE(a_repeat_is_written_out_and_bounded),
	           CASE(strings_other_than_titles_are_dropped),
	           CASE(a_sequence_ends_by_a_cancel_or_a_new_one),
	           CASE(what_is_longer_than_a_sequence_may_be_is_dropped),
	           CASE(accents_without_an_end_are_broken_up),
	           CASE(no_byte_grows_by_more_than_is_promised));
}
