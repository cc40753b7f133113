/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/bytes.h"
#include "compression/decompress.h"

#define MIB (1 << 20)

static int on_bytes(void *context, struct span bytes, struct error *err)
{
	(void)err;
	buf_add_span(context, bytes);
	return 0;
}

/* In pieces of that size; 0 and what came out, or -1. */
static int run(struct span in, size_t piece, int64_t size_max, struct buf *out, struct error *err)
{
	struct decompressor *i =
	        decompressor_new(&(struct decompressor_options){size_max, on_bytes, out});
	int status = 0;

	while (status == 0 && in.size > 0) {
		size_t size = piece < in.size ? piece : in.size;

		status = decompressor_write(i, (struct span){in.data, size}, err);
		in = (struct span){in.data + size, in.size - size};
	}
	if (status == 0)
		status = decompressor_end(i, err);
	decompressor_free(i);
	return status;
}

static void add_gzip(struct buf *out, struct span plain)
{
	z_stream z = {0};
	size_t room = compressBound(plain.size) + 64;
	char *bytes = malloc(room);

	assert_non_null(bytes);
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)plain.data;
	z.avail_in = (unsigned)plain.size;
	z.next_out = (unsigned char *)bytes;
	z.avail_out = (unsigned)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_add(out, bytes, room - z.avail_out);
	(void)deflateEnd(&z);
	free(bytes);
}

static void add_zstd(struct buf *out, struct span plain)
{
	size_t room = ZSTD_compressBound(plain.size);
	char *bytes = malloc(room);
	size_t size;

	assert_non_null(bytes);
	size = ZSTD_compress(bytes, room, plain.data, plain.size, 3);
	assert_false(ZSTD_isError(size));
	buf_add(out, bytes, size);
	free(bytes);
}

static void (*const packers[])(struct buf *, struct span) = {add_gzip, add_zstd, buf_add_span};

/* Not all the same, so that neither format makes nothing of it. */
static void fill(struct buf *out, size_t size)
{
	unsigned state = 1;

	for (size_t i = 0; i < size; i++) {
		state = state * 1103515245 + 12345;
		buf_add_byte(out, (char)('a' + (state >> 16) % 20));
	}
}

TEST(what_was_packed_comes_out_whatever_the_pieces)
{
	const size_t sizes[] = {0, 1, 3, 4, 5, 1000, 2 * 65536, 300000},
	             pieces[] = {1, 7, 65536, MIB};

	for (size_t p = 0; p < COUNT_OF(packers); p++) {
		for (size_t s = 0; s < COUNT_OF(sizes); s++) {
			AUTO(buf_done) struct buf plain = BUF(MIB), packed = BUF(MIB);

			fill(&plain, sizes[s]);
			packers[p](&packed, buf_span(&plain));
			for (size_t i = 0; i < COUNT_OF(pieces); i++) {
				AUTO(buf_done) struct buf out = BUF(MIB);
				struct error err = {0};

				assert_int_equal(run(buf_span(&packed), pieces[i], MIB, &out, &err),
				                 0);
				assert_true(span_equals(buf_span(&out), buf_span(&plain)));
			}
		}
	}
}

TEST(several_members_are_one_stream)
{
	for (size_t p = 0; p < 2; p++) {
		AUTO(buf_done) struct buf packed = BUF(MIB), out = BUF(MIB);
		struct error err = {0};

		packers[p](&packed, SPAN("one "));
		packers[p](&packed, SPAN(""));
		packers[p](&packed, SPAN("two"));
		assert_int_equal(run(buf_span(&packed), 3, MIB, &out, &err), 0);
		assert_string_equal(buf_text(&out), "one two");
	}
}

TEST(zeros_behind_gzip_are_padding_and_else_it_is_refused)
{
	AUTO(buf_done) struct buf packed = BUF(MIB), out = BUF(MIB);
	struct error err = {0};

	add_gzip(&packed, SPAN("text"));
	buf_add(&packed, "\0\0\0\0\0", 5);
	assert_int_equal(run(buf_span(&packed), 2, MIB, &out, &err), 0);
	assert_string_equal(buf_text(&out), "text");
	buf_add_text(&packed, "garbage");
	assert_int_equal(run(buf_span(&packed), 2, MIB, &out, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

TEST(what_is_cut_off_or_altered_is_refused)
{
	for (size_t p = 0; p < 2; p++) {
		AUTO(buf_done) struct buf plain = BUF(MIB), packed = BUF(MIB);

		fill(&plain, 5000);
		packers[p](&packed, buf_span(&plain));
		for (size_t size = 4; size < packed.size; size += 97) {
			AUTO(buf_done) struct buf out = BUF(MIB);
			struct error err = {0};

			assert_int_equal(run((struct span){packed.data, size}, 64, MIB, &out, &err),
			                 -1);
			assert_int_equal(err.code, ERROR_INVALID);
		}
	}
	AUTO(buf_done) struct buf packed = BUF(MIB), out = BUF(MIB);
	struct error err = {0};

	add_gzip(&packed, SPAN("some text that is checked by a sum"));
	packed.data[packed.size / 2] ^= 1;
	assert_int_equal(run(buf_span(&packed), 64, MIB, &out, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

TEST(more_than_may_come_out_is_refused)
{
	for (size_t p = 0; p < COUNT_OF(packers); p++) {
		AUTO(buf_done) struct buf plain = BUF(MIB), packed = BUF(MIB), out = BUF(MIB);
		struct error err = {0};

		fill(&plain, 4097);
		packers[p](&packed, buf_span(&plain));
		assert_int_equal(run(buf_span(&packed), 100, 4096, &out, &err), -1);
		assert_int_equal(err.code, ERROR_TOO_LARGE);
		assert_true(out.size <= 4096);
	}
}

/* Few bytes that stand for very many are refused before they have come out. */
TEST(a_bomb_is_refused_by_its_ratio)
{
	for (size_t p = 0; p < 2; p++) {
		AUTO(buf_done) struct buf packed = BUF(MIB), out = BUF(64 * MIB);
		struct error err = {0};
		char *zeros = calloc(1, 40 * MIB);

		assert_non_null(zeros);
		packers[p](&packed, (struct span){zeros, (size_t)40 * MIB});
		free(zeros);
		assert_int_equal(run(buf_span(&packed), 4096, INT64_C(1) << 40, &out, &err), -1);
		assert_int_equal(err.code, ERROR_TOO_LARGE);
		assert_non_null(strstr(err.text, "200 times"));
		assert_true(out.size <= 17 * MIB);
	}
}

int main(void)
{
	return RUN(CASE(what_was_packed_comes_out_whatever_the_pieces),
	           CASE(several_members_are_one_stream),
	           CASE(zeros_behind_gzip_are_padding_and_else_it_is_refused),
	           CASE(what_is_cut_off_or_altered_is_refused),
	           CASE(more_than_may_come_out_is_refused), CASE(a_bomb_is_refused_by_its_ratio));
}
