/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "credential/passage/frames.h"

/* The kinds of these bytes, as letters: m, h, c; NULL when they are no frames of a host. In pieces
 * of this size. */
static const char *read_frames(const char *bytes, size_t size, size_t step)
{
	static char letters[1024];
	AUTO(buf_done) struct buf kinds = BUF(1000);
	struct frame_reader r = {.left = 0};

	for (size_t at = 0; at < size; at += step) {
		size_t piece = size - at < step ? size - at : step;

		if (!frame_read(&r, (struct span){bytes + at, piece}, &kinds))
			return NULL;
	}
	for (size_t i = 0; i < kinds.size; i++)
		letters[i] = "mhc"[(unsigned char)kinds.data[i]];
	letters[kinds.size] = '\0';
	return letters;
}

#define READ(literal, step) read_frames((literal), sizeof(literal) - 1, (step))

TEST(heads_and_content_are_told_apart_in_pieces_of_any_size)
{
	for (size_t step = 1; step < 20; step++) {
		assert_string_equal(READ("\x01\x02"
		                         "ab"
		                         "\x89\x01"
		                         "p"
		                         "\x80\x03"
		                         "cde"
		                         "\x81\x00"
		                         "\x8a\x00"
		                         "\x82\x01"
		                         "x",
		                         step),
		                    "hhmmhhchhmmmhhhhhhm");
		assert_string_equal(READ("\x82\x7e\x00\x03"
		                         "abc"
		                         "\x82\x7f\0\0\0\0\0\0\0\x02"
		                         "de",
		                         step),
		                    "hhhhmmmhhhhhhhhhhmm");
	}
}

TEST(what_no_host_may_send_is_refused)
{
	assert_null(READ("\xc1\x01"
	                 "a",
	                 8)); /* compressed */
	assert_null(READ("\x91\x01"
	                 "a",
	                 8));
	assert_null(READ("\x81\x81\0\0\0\0"
	                 "a",
	                 8)); /* masked */
	assert_null(READ("\x83\x01"
	                 "a",
	                 8)); /* an unknown kind */
	assert_null(READ("\x8b\x01"
	                 "a",
	                 8));
	assert_null(READ("\x09\x01"
	                 "a",
	                 8));                     /* a ping in parts */
	assert_null(READ("\x89\x7e\x00\x80", 8)); /* a long one */
	assert_null(READ("\x82\x7f\xff\0\0\0\0\0\0\x02", 16));
}

TEST(a_tail_has_so_many_bytes_of_a_kind)
{
	AUTO(buf_done) struct buf kinds = BUF(100);
	struct frame_reader r = {.left = 0};

	assert_true(frame_read(&r,
	                       SPAN("\x01\x03"
	                            "abc"
	                            "\x89\x01"
	                            "p"
	                            "\x80\x01"
	                            "d"),
	                       &kinds));
	assert_int_equal(frame_tail(&kinds, FRAME_MESSAGE, 0), 0);
	assert_int_equal(frame_tail(&kinds, FRAME_MESSAGE, 1), 1);
	assert_int_equal(frame_tail(&kinds, FRAME_MESSAGE, 2), 7);
	assert_int_equal(frame_tail(&kinds, FRAME_CONTROL, 1), 4);
	assert_int_equal(frame_tail(&kinds, FRAME_MESSAGE, 9), 11);
}

int main(void)
{
	return RUN(CASE(heads_and_content_are_told_apart_in_pieces_of_any_size),
	           CASE(what_no_host_may_send_is_refused),
	           CASE(a_tail_has_so_many_bytes_of_a_kind));
}
