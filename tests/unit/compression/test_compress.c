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

int main(void)
{
	return RUN(CASE(what_is_packed_is_unpacked_again), CASE(nothing_is_a_whole_stream_too));
}
