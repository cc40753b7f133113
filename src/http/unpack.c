/* SPDX-License-Identifier: Apache-2.0 */
#include "http/unpack.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/attribute.h"

#define PIECE_SIZE ((size_t)32 * 1024)
#define RATIO_MAX 100                  /* of pages it is 3 to 15, of a long table 40 */
#define RATIO_FREE ((uint64_t)4 << 20) /* a smaller page is never held against its server */
#define WINDOW 15                      /* of zlib's: the largest */
#define WITH_GZIP 16

struct unpacker {
	enum unpack_coding coding;
	bool has_begun, has_ended;
	uint64_t in, out;
	z_stream stream;
	char piece[PIECE_SIZE];
};

enum unpack_coding unpack_coding_parse(struct span text)
{
	text = span_trim(text);
	if (text.size == 0 || span_is_word(text, "identity"))
		return UNPACK_NONE;
	if (span_is_word(text, "gzip") || span_is_word(text, "x-gzip"))
		return UNPACK_GZIP;
	return span_is_word(text, "deflate") ? UNPACK_DEFLATE : UNPACK_UNKNOWN;
}

struct unpacker *unpacker_new(enum unpack_coding coding)
{
	struct unpacker *u = calloc(1, sizeof(*u));

	if (!u)
		abort();
	u->coding = coding;
	return u;
}

void unpacker_free(struct unpacker *u)
{
	if (u && u->has_begun)
		(void)inflateEnd(&u->stream);
	free(u);
}

/* "deflate" is what zlib writes; many servers leave its head out, and browsers take both. */
static void begin(struct unpacker *u, char first)
{
	int window = u->coding == UNPACK_GZIP       ? WINDOW + WITH_GZIP
	             : (first & 0x0f) == Z_DEFLATED ? WINDOW
	                                            : -WINDOW;

	if (inflateInit2(&u->stream, window) != Z_OK)
		abort();
	u->has_begun = true;
}

/* What is left of it stands behind the end. */
static enum unpack_result more(struct span *in)
{
	in->size = 0;
	return UNPACK_MORE;
}

enum unpack_result unpacker_next(struct unpacker *u, struct span *in, struct span *ret)
{
	z_stream *z = &u->stream;
	int status;

	if (u->has_ended || (!u->has_begun && in->size == 0))
		return more(in);
	if (!u->has_begun)
		begin(u, in->data[0]);
	z->next_in = (unsigned char *)(uintptr_t)in->data;
	z->avail_in = (unsigned)in->size;
	z->next_out = (unsigned char *)u->piece;
	z->avail_out = PIECE_SIZE;
	status = inflate(z, Z_NO_FLUSH);
	/* Nothing to do is none of its errors. */
	if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
		return UNPACK_BAD;
	u->has_ended = status == Z_STREAM_END;
	u->in += in->size - z->avail_in;
	*in = (struct span){in->data + (in->size - z->avail_in), z->avail_in};
	*ret = (struct span){u->piece, PIECE_SIZE - z->avail_out};
	u->out += ret->size;
	if (u->out > RATIO_FREE && u->out / RATIO_MAX > u->in)
		return UNPACK_BAD;
	return ret->size > 0 ? UNPACK_PIECE : more(in);
}

bool unpacker_is_whole(const struct unpacker *u)
{
	return !u->has_begun || u->has_ended;
}
