/* SPDX-License-Identifier: Apache-2.0 */
#include "compression/compress.h"

#include <stdlib.h>
#include <zlib.h>

#define OUT_SIZE ((size_t)64 * 1024)
#define LEVEL 1
#define GZIP_WINDOW (15 + 16) /* of zlib's: the largest, with gzip's head */
#define MEMORY_LEVEL 8

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
