/* SPDX-License-Identifier: Apache-2.0 */
#include "compression/gunzip.h"

#include <stdlib.h>
#include <zlib.h>

#define WINDOW 15 /* of zlib's: the largest */

struct gunzip {
	z_stream stream;
	bool is_at_end;
};

struct gunzip *gunzip_new(enum gunzip_format format)
{
	static const int windows[] = {
	        [GUNZIP_GZIP] = WINDOW + 16, [GUNZIP_ZLIB] = WINDOW, [GUNZIP_RAW] = -WINDOW};
	struct gunzip *g = memory_new(sizeof(*g));

	if (inflateInit2(&g->stream, windows[format]) != Z_OK)
		abort(); /* fails only without memory */
	return g;
}

void gunzip_free(struct gunzip *g)
{
	if (g)
		(void)inflateEnd(&g->stream);
	free(g);
}

ssize_t gunzip_read(struct gunzip *g, struct span *in, char *out, size_t room, struct error *err)
{
	z_stream *z = &g->stream;
	int status;

	z->next_in = (unsigned char *)(uintptr_t)in->data;
	z->avail_in = (unsigned)in->size;
	z->next_out = (unsigned char *)out;
	z->avail_out = (unsigned)room;
	status = inflate(z, Z_NO_FLUSH);
	/* Z_BUF_ERROR without input only means that there was nothing to do. */
	if (status != Z_OK && status != Z_STREAM_END && (status != Z_BUF_ERROR || in->size > 0))
		return FAIL(err, ERROR_INVALID, "not whole gzip: %s",
		            z->msg ? z->msg : "it makes no sense");
	g->is_at_end = status == Z_STREAM_END;
	*in = (struct span){(const char *)z->next_in, z->avail_in};
	return (ssize_t)(room - z->avail_out);
}

bool gunzip_is_at_end(const struct gunzip *g)
{
	return g->is_at_end;
}

void gunzip_restart(struct gunzip *g)
{
	(void)inflateReset(&g->stream);
	g->is_at_end = false;
}
