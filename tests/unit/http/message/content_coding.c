/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "unit.h"

#include "base/bytes.h"
#include "http/message/content_coding.h"

#define MIB ((size_t)1 << 20)
#define GZIP (15 + 16)
#define ZLIB 15
#define RAW (-15)

static void drop(struct content_decoder **u)
{
	content_decoder_free(*u);
}

static void pack(struct span plain, int window, struct buf *out)
{
	z_stream z = {.next_in = (unsigned char *)(uintptr_t)plain.data,
	              .avail_in = (unsigned)plain.size};
	size_t room;

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
	room = deflateBound(&z, plain.size);
	z.next_out = (unsigned char *)buf_reserve(out, room);
	z.avail_out = (unsigned)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out->size = z.total_out;
	(void)deflateEnd(&z);
}

/* In pieces of `step` bytes. */
static enum decode_result unpack_all(struct content_decoder *u, struct span packed, size_t step,
                                     struct buf *out)
{
	for (size_t at = 0; at < packed.size; at += step) {
		struct span in = {packed.data + at,
		                  packed.size - at < step ? packed.size - at : step};
		enum decode_result result;
		struct span piece;

		while ((result = content_decoder_next(u, &in, &piece)) == DECODE_PIECE ||
		       result == DECODE_LATER)
			if (result == DECODE_PIECE)
				buf_add_span(out, piece);
			else
				content_decoder_begin_step(u);
		if (result == DECODE_BAD)
			return result;
		assert_int_equal(in.size, 0);
	}
	return DECODE_MORE;
}

static char *large_text(size_t size)
{
	char *text = malloc(size);

	for (size_t i = 0; i < size; i++)
		text[i] = (char)('a' + (i * i / 7 + i / 100) % 26);
	return text;
}

TEST(names_of_codings_are_known_in_either_case)
{
	assert_int_equal(content_coding_parse(SPAN("")), CONTENT_CODING_NONE);
	assert_int_equal(content_coding_parse(SPAN(" Identity ")), CONTENT_CODING_NONE);
	assert_int_equal(content_coding_parse(SPAN("GZIP")), CONTENT_CODING_GZIP);
	assert_int_equal(content_coding_parse(SPAN("x-gzip")), CONTENT_CODING_GZIP);
	assert_int_equal(content_coding_parse(SPAN("deflate")), CONTENT_CODING_DEFLATE);
	assert_int_equal(content_coding_parse(SPAN("br")), CONTENT_CODING_UNKNOWN);
	assert_int_equal(content_coding_parse(SPAN("gzip, br")), CONTENT_CODING_UNKNOWN);
	assert_int_equal(content_coding_parse(SPAN("gzip, identity")), CONTENT_CODING_GZIP);
	assert_int_equal(content_coding_parse(SPAN("identity,gzip")), CONTENT_CODING_GZIP);
	assert_int_equal(content_coding_parse(SPAN("gzip, gzip")), CONTENT_CODING_UNKNOWN);
	assert_int_equal(content_coding_join(CONTENT_CODING_GZIP, CONTENT_CODING_NONE),
	                 CONTENT_CODING_GZIP);
	assert_int_equal(content_coding_join(CONTENT_CODING_NONE, CONTENT_CODING_GZIP),
	                 CONTENT_CODING_GZIP);
	assert_int_equal(content_coding_join(CONTENT_CODING_GZIP, CONTENT_CODING_GZIP),
	                 CONTENT_CODING_UNKNOWN);
}

TEST(what_was_packed_comes_back_in_pieces_of_any_size)
{
	static const struct {
		int window;
		enum content_coding coding;
	} kinds[] = {{GZIP, CONTENT_CODING_GZIP},
	             {ZLIB, CONTENT_CODING_DEFLATE},
	             {RAW, CONTENT_CODING_DEFLATE}};
	static const size_t steps[] = {1, 7, 4096, MIB};
	AUTO_FREE char *text = large_text(300000);
	struct span plain = {text, 300000};

	for (size_t k = 0; k < COUNT_OF(kinds); k++) {
		AUTO(buf_done) struct buf packed = BUF(MIB);

		pack(plain, kinds[k].window, &packed);
		for (size_t s = 0; s < COUNT_OF(steps); s++) {
			AUTO(drop) struct content_decoder *u = content_decoder_new(kinds[k].coding);
			AUTO(buf_done) struct buf out = BUF(MIB);

			assert_int_equal(unpack_all(u, buf_span(&packed), steps[s], &out),
			                 DECODE_MORE);
			assert_true(content_decoder_is_whole(u));
			assert_true(span_equals(buf_span(&out), plain));
		}
	}
}

TEST(what_is_missing_or_makes_no_sense_is_told)
{
	AUTO(drop) struct content_decoder *none = content_decoder_new(CONTENT_CODING_GZIP);
	AUTO(drop) struct content_decoder *half = content_decoder_new(CONTENT_CODING_GZIP);
	AUTO(drop) struct content_decoder *more = content_decoder_new(CONTENT_CODING_GZIP);
	AUTO(drop) struct content_decoder *bad = content_decoder_new(CONTENT_CODING_GZIP);
	AUTO(buf_done) struct buf packed = BUF(MIB), out = BUF(MIB);

	assert_true(content_decoder_is_whole(none));
	pack(SPAN("some text"), GZIP, &packed);
	assert_int_equal(unpack_all(half, (struct span){packed.data, packed.size - 1}, MIB, &out),
	                 DECODE_MORE);
	assert_false(content_decoder_is_whole(half));
	buf_reset(&out);
	buf_add_text(&packed, "and what is nobody's");
	assert_int_equal(unpack_all(more, buf_span(&packed), 5, &out), DECODE_MORE);
	assert_true(content_decoder_is_whole(more));
	assert_string_equal(buf_text(&out), "some text");
	assert_int_equal(unpack_all(bad, SPAN("<p>no gzip</p>"), MIB, &out), DECODE_BAD);
}

TEST(texts_packed_one_after_another_are_one)
{
	static const size_t steps[] = {1, 2, 3, 7, MIB};
	AUTO(buf_done) struct buf packed = BUF(MIB), one = BUF(MIB);

	for (size_t i = 0; i < 3; i++) {
		buf_reset(&one);
		pack(i == 0 ? SPAN("one ") : i == 1 ? SPAN("") : SPAN("two"), GZIP, &one);
		buf_add_span(&packed, buf_span(&one));
	}
	for (size_t s = 0; s < COUNT_OF(steps); s++) {
		AUTO(drop) struct content_decoder *u = content_decoder_new(CONTENT_CODING_GZIP);
		AUTO(drop) struct content_decoder *half = content_decoder_new(CONTENT_CODING_GZIP);
		AUTO(buf_done) struct buf out = BUF(MIB), less = BUF(MIB);

		assert_int_equal(unpack_all(u, buf_span(&packed), steps[s], &out), DECODE_MORE);
		assert_true(content_decoder_is_whole(u));
		assert_string_equal(buf_text(&out), "one two");
		assert_int_equal(unpack_all(half, (struct span){packed.data, packed.size - 1},
		                            steps[s], &less),
		                 DECODE_MORE);
		assert_false(content_decoder_is_whole(half));
	}
}

/* The most that one turn takes and gives, and how many there are. */
static unsigned count_turns(struct span in, size_t *ret_in_max, size_t *ret_out_max)
{
	AUTO(drop) struct content_decoder *u = content_decoder_new(CONTENT_CODING_GZIP);
	enum decode_result result = DECODE_LATER;
	unsigned turns = 0;

	*ret_in_max = *ret_out_max = 0;
	for (; result == DECODE_LATER; turns++) {
		size_t before = in.size, out = 0;
		struct span piece;

		content_decoder_begin_step(u);
		while ((result = content_decoder_next(u, &in, &piece)) == DECODE_PIECE)
			out += piece.size;
		*ret_in_max = before - in.size > *ret_in_max ? before - in.size : *ret_in_max;
		*ret_out_max = out > *ret_out_max ? out : *ret_out_max;
	}
	assert_int_equal(result, DECODE_MORE);
	assert_true(content_decoder_is_whole(u));
	return turns;
}

TEST(one_turn_takes_and_gives_so_much_and_no_more)
{
	AUTO(buf_done) struct buf packed = BUF(8 * MIB), empty = BUF(MIB), many = BUF(MIB);
	AUTO_FREE char *zeros = calloc(1, 4 * MIB);
	size_t in_max, out_max;

	pack((struct span){zeros, 4 * MIB}, GZIP, &packed);
	assert_in_range(count_turns(buf_span(&packed), &in_max, &out_max), 16, 18);
	assert_in_range(out_max, 1, DECODE_STEP_OUT_MAX + 32768);
	/* Of nothing, very many. */
	pack(SPAN(""), GZIP, &empty);
	while (many.size < 10 * DECODE_STEP_IN_MAX)
		buf_add_span(&many, buf_span(&empty));
	assert_in_range(count_turns(buf_span(&many), &in_max, &out_max), 10, 12);
	assert_in_range(in_max, 1, DECODE_STEP_IN_MAX);
}

TEST(a_few_bytes_do_not_become_any_number)
{
	AUTO(drop) struct content_decoder *u = content_decoder_new(CONTENT_CODING_GZIP);
	AUTO(buf_done) struct buf packed = BUF(64 * MIB), out = BUF(64 * MIB);
	AUTO_FREE char *zeros = calloc(1, 40 * MIB);

	pack((struct span){zeros, 40 * MIB}, GZIP, &packed);
	assert_int_equal(unpack_all(u, buf_span(&packed), MIB, &out), DECODE_BAD);
	assert_in_range(out.size, 4 * MIB - 65536, 4 * MIB + 65536);
}

TEST(a_page_of_some_megabytes_may_be_as_small_as_it_is)
{
	AUTO(drop) struct content_decoder *u = content_decoder_new(CONTENT_CODING_GZIP);
	AUTO(buf_done) struct buf packed = BUF(64 * MIB), out = BUF(64 * MIB);
	AUTO_FREE char *zeros = calloc(1, 4 * MIB);

	pack((struct span){zeros, 4 * MIB}, GZIP, &packed);
	assert_int_equal(unpack_all(u, buf_span(&packed), MIB, &out), DECODE_MORE);
	assert_true(content_decoder_is_whole(u));
	assert_int_equal(out.size, 4 * MIB);
}

int main(void)
{
	return RUN(CASE(names_of_codings_are_known_in_either_case),
	           CASE(what_was_packed_comes_back_in_pieces_of_any_size),
	           CASE(what_is_missing_or_makes_no_sense_is_told),
	           CASE(texts_packed_one_after_another_are_one),
	           CASE(one_turn_takes_and_gives_so_much_and_no_more),
	           CASE(a_few_bytes_do_not_become_any_number),
	           CASE(a_page_of_some_megabytes_may_be_as_small_as_it_is));
}
