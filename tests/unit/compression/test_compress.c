/* SPDX-License-Identifier: Apache-2.0 */
#include "compression/compress.h"

#include <stdlib.h>
#include <string.h>

#include "compression/decompress.h"
#include "unit.h"

static int collect(void *context, struct span bytes, struct error *err)
{
	(void)err;
	buf_add_span(context, bytes);
	return 0;
}

/* Packs in pieces, and unpacks again. */
static void check(struct span bytes, size_t piece)
{
	AUTO(buf_done) struct buf packed = BUF(8 << 20), plain = BUF(8 << 20);
	const struct decompressor_options options = {8 << 20, collect, &plain};
	struct decompressor *i = decompressor_new(&options);
	struct compressor *d = compressor_new();
	struct span rest = bytes;
	struct error err;

	while (rest.size > piece) {
		compressor_write(d, (struct span){rest.data, piece}, false, &packed);
		rest = (struct span){rest.data + piece, rest.size - piece};
	}
	compressor_write(d, rest, true, &packed);
	assert_memory_equal(packed.data, "\x1f\x8b\x08", 3);
	assert_int_equal(decompressor_write(i, buf_span(&packed), &err), 0);
	assert_int_equal(decompressor_end(i, &err), 0);
	assert_true(span_equals(buf_span(&plain), bytes));
	decompressor_free(i);
	compressor_free(d);
}

TEST(what_is_packed_is_unpacked_again)
{
	static char bytes[1 << 20];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)((i * i >> 7) ^ (i >> 3));
	check((struct span){bytes, sizeof(bytes)}, 128 * 1024);
	check((struct span){bytes, 1000}, 1);
	check((struct span){bytes, 1}, 10);
}

TEST(nothing_is_a_whole_stream_too)
{
	check(SPAN(""), 1);
	compressor_free(NULL);
}

static void check_whole(enum compress_coding coding, struct span bytes)
{
	AUTO(buf_done) struct buf packed = BUF(8 << 20), plain = BUF(8 << 20);
	const struct decompressor_options options = {8 << 20, collect, &plain};
	struct decompressor *i = decompressor_new(&options);
	struct error err;

	buf_add_text(&packed, "before");
	assert_true(compress_whole(coding, bytes, &packed));
	assert_true(packed.size < 6 + bytes.size);
	assert_memory_equal(packed.data, "before", 6);
	assert_int_equal(decompressor_write(i, span_after(buf_span(&packed), 6), &err), 0);
	assert_int_equal(decompressor_end(i, &err), 0);
	assert_true(span_equals(buf_span(&plain), bytes));
	decompressor_free(i);
}

TEST(a_whole_text_is_packed_by_both_codings)
{
	static char text[1 << 20];
	static const size_t sizes[] = {64, 1024, 4096, 4097, 100000, sizeof(text)};

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "{\"name\":\"box\"}"[i % 14 + i / 5000 % 2];
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		check_whole(COMPRESS_GZIP, (struct span){text, sizes[i]});
		check_whole(COMPRESS_ZSTD, (struct span){text, sizes[i]});
	}
}

TEST(what_does_not_become_smaller_is_left)
{
	static const enum compress_coding codings[] = {COMPRESS_GZIP, COMPRESS_ZSTD};
	unsigned char noise[2000];
	unsigned seed = 1;

	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
	for (size_t i = 0; i < COUNT_OF(codings); i++) {
		AUTO(buf_done) struct buf packed = BUF(8 << 20);

		buf_add_text(&packed, "before");
		assert_false(compress_whole(codings[i], (struct span){(char *)noise, sizeof(noise)},
		                            &packed));
		assert_false(compress_whole(codings[i], SPAN(""), &packed));
		assert_false(compress_whole(codings[i], SPAN("x"), &packed));
		assert_string_equal(buf_text(&packed), "before");
	}
}

int main(void)
{
	return RUN(CASE(what_is_packed_is_unpacked_again), CASE(nothing_is_a_whole_stream_too),
	           CASE(a_whole_text_is_packed_by_both_codings),
	           CASE(what_does_not_become_smaller_is_left));
}
