/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "shell/marks.h"

#define ID "aaaaaaaaaaaaaaaaaaaa"
#define BEGIN "\036atoll:B:" ID ":6c73\n"
#define END "\036atoll:E:" ID ":3\n"

struct told {
	struct shell_marks marks;
	struct buf text; /* output, and marks as "<KIND TEXT>" */
};

static void on_bytes(void *context, struct span bytes)
{
	buf_add_span(&((struct told *)context)->text, bytes);
}

static void on_mark(void *context, const struct shell_mark *mark)
{
	buf_addf(&((struct told *)context)->text, "<%c %s%.*s>", mark->kind, mark->id[0] ? "" : "-",
	         (int)mark->text.size, mark->text.data);
}

static const struct shell_marks_ops ops = {on_bytes, on_mark};

/* In pieces of so many bytes. */
static void check(struct span input, size_t piece, const char *expected)
{
	struct told told = {.text = BUF(1 << 20)};

	shell_marks_init(&told.marks, &ops, &told);
	while (input.size > 0) {
		size_t size = input.size < piece ? input.size : piece;

		shell_marks_add(&told.marks, (struct span){input.data, size});
		input.data += size;
		input.size -= size;
	}
	shell_marks_end(&told.marks);
	assert_string_equal(buf_text(&told.text), expected);
	shell_marks_done(&told.marks);
	buf_done(&told.text);
}

TEST(marks_are_taken_out_of_the_output_wherever_pieces_are_cut)
{
	static const struct span input =
	        SPAN("\036atoll:D::/tmp/x\nbefore" BEGIN "one\ntwo" END "after\n");

	for (size_t piece = 1; piece <= input.size; piece++)
		check(input, piece, "<D -/tmp/x>before<B 6c73>one\ntwo<E 3>after\n");
}

TEST(what_only_looks_like_a_mark_is_output)
{
	static const struct {
		const char *input;
	} cases[] = {
	        {"\036"},
	        {"\036\036\036"},
	        {"\036atoll"},
	        {"\036atoll:B:" ID},
	        {"\036atoll:X:" ID ":1\n"},
	        {"\036atoll:B:short:6c\n"},
	        {"\036atoll:E:" ID ":256\n"},
	        {"\036atoll:E:" ID ":-1\n"},
	        {"\036atoll:D:" ID ":/x\n"},
	        {"\036atoll:\n"},
	        {"\036atoll:B\n"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (size_t piece = 1; piece < 8; piece++)
			check(span_of(cases[i].input), piece, cases[i].input);
}

TEST(a_mark_behind_what_looks_like_one_is_found)
{
	check(SPAN("\036atoll:" BEGIN), 3, "\036atoll:<B 6c73>");
	check(SPAN("\036at" END "x"), 4, "\036at<E 3>x");
}

TEST(a_line_that_is_too_long_is_no_mark)
{
	AUTO(buf_done) struct buf input = BUF(1 << 16);

	buf_add_text(&input, "\036atoll:B:" ID ":");
	while (input.size < MARK_TEXT_MAX + 200)
		buf_add_text(&input, "6c");
	buf_add_byte(&input, '\n');
	check(buf_span(&input), 1000, buf_text(&input));
}

int main(void)
{
	return RUN(CASE(marks_are_taken_out_of_the_output_wherever_pieces_are_cut),
	           CASE(what_only_looks_like_a_mark_is_output),
	           CASE(a_mark_behind_what_looks_like_one_is_found),
	           CASE(a_line_that_is_too_long_is_no_mark));
}
