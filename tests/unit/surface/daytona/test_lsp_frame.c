/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/daytona/lsp_frame.h"
#include "unit.h"

/* Returns the messages of a stream that arrives in pieces of this size, each in brackets. */
static void check(const char *stream, size_t piece, const char *expected)
{
	AUTO(buf_done) struct buf in = BUF(1 << 16), told = BUF(1 << 16);
	struct span rest = span_of(stream), message;
	size_t at = 0;

	while (rest.size > 0) {
		size_t size = rest.size < piece ? rest.size : piece;

		buf_add(&in, rest.data, size);
		rest.data += size;
		rest.size -= size;
		while (lsp_frame_next(&in, &at, &message))
			buf_addf(&told, "[%.*s]", (int)message.size, message.data);
	}
	assert_string_equal(buf_text(&told), expected);
}

TEST(messages_are_found_wherever_pieces_are_cut)
{
	AUTO(buf_done) struct buf stream = BUF(4096);

	lsp_frame_add(&stream, SPAN("{\"a\":1}"));
	lsp_frame_add(&stream, SPAN("{}"));
	buf_add_text(&stream, "Content-Type: x\r\nContent-Length: 7\r\nX: y\r\n\r\n{\"b\":2}");
	for (size_t piece = 1; piece <= stream.size; piece++)
		check(buf_text(&stream), piece, "[{\"a\":1}][{}][{\"b\":2}]");
}

TEST(bytes_that_are_no_message_are_skipped)
{
	static const char good[] = "Content-Length: 2\r\n\r\n{}";
	static const char *const before[] = {
	        "the end of a message}",
	        "Content-Length: no\r\n\r\n",
	        "Content-Length: -1\r\n\r\n{}",
	        "Content-Length: 99999999999999999999\r\n\r\n{}",
	        "Content-Length: 1\r\n\r\n{",
	        "Content-Length: 12\r\n\r\nno object",
	        "Content-Length: Content-Length: \r\n\r\n",
	};

	for (size_t i = 0; i < COUNT_OF(before); i++) {
		AUTO(buf_done) struct buf stream = BUF(4096);

		buf_addf(&stream, "%s%s", before[i], good);
		for (size_t piece = 1; piece < 9; piece++)
			check(buf_text(&stream), piece, "[{}]");
	}
}

TEST(the_reader_does_not_wait_for_a_head_without_an_end)
{
	AUTO(buf_done) struct buf stream = BUF(1 << 15);

	buf_add_text(&stream, "Content-Length: 5");
	while (stream.size < 4096)
		buf_add_text(&stream, " still the head");
	buf_add_text(&stream, "\r\nContent-Length: 2\r\n\r\n{}");
	check(buf_text(&stream), 100, "[{}]");
}

TEST(an_incomplete_message_is_not_returned)
{
	check("Content-Length: 3\r\n\r\n{}", 4, "");
	check("Content-Length: 3\r\n\r", 4, "");
	check("", 4, "");
}

int main(void)
{
	return RUN(CASE(messages_are_found_wherever_pieces_are_cut),
	           CASE(bytes_that_are_no_message_are_skipped),
	           CASE(the_reader_does_not_wait_for_a_head_without_an_end),
	           CASE(an_incomplete_message_is_not_returned));
}
