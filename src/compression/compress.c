/* SPDX-License-Identifier: Apache-2.0 */
#include "compression/compress.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define OUT_SIZE ((size_t)64 * 1024)
#define LEVEL 1
#define GZIP_WINDOW (15 + 16) /* of zlib's: the largest, with gzip's head */
#define MEMORY_LEVEL 8
#define ZSTD_LEVEL 1
/* Smaller texts need no larger window: to clear it would cost more than to compress them. */
#define SMALL_SIZE ((size_t)4 * 1024)
#define SMALL_WINDOW (12 + 16)
#define SMALL_MEMORY_LEVEL 5

struct compressor {
	z_stream z;
};

struct compressor *compressor_new(void)
{
	struct compressor *d = memory_new(sizeof(*d));

	if (deflateInit2(&d->z, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		abort(); /* fails only without memory */
	return d;
}

void compressor_free(struct compressor *d)
{
	if (!d)
		return;
	(void)deflateEnd(&d->z);
	free(d);
}

void compressor_write(struct compressor *d, struct span bytes, bool last, struct buf *out)
{
	d->z.next_in = (Bytef *)(uintptr_t)bytes.data;
	d->z.avail_in = (uInt)bytes.size;
	do {
		char *room = buf_reserve(out, OUT_SIZE);

		if (!room)
			return;
		d->z.next_out = (Bytef *)room;
		d->z.avail_out = (uInt)OUT_SIZE;
		(void)deflate(&d->z, last ? Z_FINISH : Z_NO_FLUSH);
		buf_commit(out, OUT_SIZE - d->z.avail_out);
	} while (d->z.avail_out == 0);
}

/* Returns the size, 0 when it does not fit in `room`. */
static size_t pack_gzip(struct span bytes, char *at, size_t room)
{
	bool is_small = bytes.size <= SMALL_SIZE;
	z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes.data,
	              .avail_in = (uInt)bytes.size,
	              .next_out = (Bytef *)at,
	              .avail_out = (uInt)room};
	bool is_whole;

	if (deflateInit2(&z, LEVEL, Z_DEFLATED, is_small ? SMALL_WINDOW : GZIP_WINDOW,
	                 is_small ? SMALL_MEMORY_LEVEL : MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		abort(); /* fails only without memory */
	is_whole = deflate(&z, Z_FINISH) == Z_STREAM_END;
	(void)deflateEnd(&z);
	return is_whole ? room - z.avail_out : 0;
}

static size_t pack_zstd(struct span bytes, char *at, size_t room)
{
	size_t size = ZSTD_compress(at, room, bytes.data, bytes.size, ZSTD_LEVEL);

	return ZSTD_isError(size) ? 0 : size;
}

bool compress_whole(enum compress_coding coding, struct span bytes, struct buf *out)
{
	char *at = bytes.size > 1 ? buf_reserve(out, bytes.size) : NULL;
	size_t size;

	if (!at)
		return false;
	size = coding == COMPRESS_ZSTD ? pack_zstd(bytes, at, bytes.size - 1)
	                               : pack_gzip(bytes, at, bytes.size - 1);
	buf_commit(out, size);
	return size > 0;
}
