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

/* How gzip begins: one packed text may follow another, and both are one. */
static const unsigned char magic[2] = {0x1f, 0x8b};

enum unpack_stage {
	STAGE_BEFORE,
	STAGE_WITHIN,
	STAGE_END,   /* another may begin */
	STAGE_MAGIC, /* the same, and its first byte was there */
	STAGE_BEHIND,
};

struct unpacker {
	enum unpack_coding coding;
	enum unpack_stage stage;
	uint64_t in, out;
	size_t turn_in, turn_out;
	z_stream stream;
	char piece[PIECE_SIZE];
};

static enum unpack_coding parse_coding(struct span text)
{
	if (text.size == 0 || span_is_word(text, "identity"))
		return UNPACK_NONE;
	if (span_is_word(text, "gzip") || span_is_word(text, "x-gzip"))
		return UNPACK_GZIP;
	return span_is_word(text, "deflate") ? UNPACK_DEFLATE : UNPACK_UNKNOWN;
}

enum unpack_coding unpack_coding_join(enum unpack_coding inner, enum unpack_coding outer)
{
	if (inner != UNPACK_NONE && outer != UNPACK_NONE)
		return UNPACK_UNKNOWN;
	return inner != UNPACK_NONE ? inner : outer;
}

enum unpack_coding unpack_coding_parse(struct span text)
{
	enum unpack_coding coding = UNPACK_NONE;
	struct span one;
	bool more = true;

	while (more) {
		more = span_split(&text, ',', &one);
		coding = unpack_coding_join(coding, parse_coding(span_trim(one)));
	}
	return coding;
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
	if (u && u->stage != STAGE_BEFORE)
		(void)inflateEnd(&u->stream);
	free(u);
}

void unpacker_turn(struct unpacker *u)
{
	u->turn_in = u->turn_out = 0;
}

static void consume_input(struct unpacker *u, struct span *in, size_t size)
{
	u->in += size;
	u->turn_in += size;
	*in = (struct span){in->data + size, in->size - size};
}

/* "deflate" is what zlib writes; many servers leave its head out, and browsers take both. */
static void begin_stream(struct unpacker *u, char first)
{
	int window = u->coding == UNPACK_GZIP       ? WINDOW + WITH_GZIP
	             : (first & 0x0f) == Z_DEFLATED ? WINDOW
	                                            : -WINDOW;

	if (inflateInit2(&u->stream, window) != Z_OK)
		abort();
	u->stage = STAGE_WITHIN;
}

static void begin_next_member(struct unpacker *u)
{
	z_stream *z = &u->stream;

	if (inflateReset(z) != Z_OK)
		abort();
	z->next_in = (unsigned char *)(uintptr_t)magic;
	z->avail_in = sizeof(magic);
	z->next_out = (unsigned char *)u->piece;
	z->avail_out = PIECE_SIZE;
	(void)inflate(z, Z_NO_FLUSH);
	u->stage = STAGE_WITHIN;
}

/* One byte behind an end. What begins nothing is nobody's. */
static void look_behind(struct unpacker *u, struct span *in)
{
	unsigned char c = (unsigned char)in->data[0];

	consume_input(u, in, 1);
	if (u->coding == UNPACK_GZIP && u->stage == STAGE_END && c == magic[0])
		u->stage = STAGE_MAGIC;
	else if (u->stage == STAGE_MAGIC && c == magic[1])
		begin_next_member(u);
	else
		u->stage = STAGE_BEHIND;
}

static enum unpack_result decompress_piece(struct unpacker *u, struct span *in, struct span *ret)
{
	size_t room = UNPACK_TURN_IN_MAX - u->turn_in, size = in->size < room ? in->size : room;
	z_stream *z = &u->stream;
	int status;

	z->next_in = (unsigned char *)(uintptr_t)in->data;
	z->avail_in = (unsigned)size;
	z->next_out = (unsigned char *)u->piece;
	z->avail_out = PIECE_SIZE;
	status = inflate(z, Z_NO_FLUSH);
	/* Nothing to do is none of its errors. */
	if (status != Z_OK && status != Z_STREAM_END && (status != Z_BUF_ERROR || size > 0))
		return UNPACK_BAD;
	if (status == Z_STREAM_END)
		u->stage = STAGE_END;
	consume_input(u, in, size - z->avail_in);
	*ret = (struct span){u->piece, PIECE_SIZE - z->avail_out};
	u->out += ret->size;
	u->turn_out += ret->size;
	if (u->out > RATIO_FREE && u->out / RATIO_MAX > u->in)
		return UNPACK_BAD;
	return ret->size > 0 ? UNPACK_PIECE : UNPACK_MORE;
}

enum unpack_result unpacker_next(struct unpacker *u, struct span *in, struct span *ret)
{
	enum unpack_result result;

	while (u->stage != STAGE_BEHIND && (in->size > 0 || u->stage == STAGE_WITHIN)) {
		if (u->turn_in >= UNPACK_TURN_IN_MAX || u->turn_out >= UNPACK_TURN_OUT_MAX)
			return UNPACK_LATER;
		if (u->stage == STAGE_END || u->stage == STAGE_MAGIC) {
			look_behind(u, in);
			continue;
		}
		if (u->stage == STAGE_BEFORE)
			begin_stream(u, in->data[0]);
		result = decompress_piece(u, in, ret);
		if (result != UNPACK_MORE || in->size == 0)
			return result;
	}
	in->size = 0;
	return UNPACK_MORE;
}

bool unpacker_is_whole(const struct unpacker *u)
{
	return u->stage != STAGE_WITHIN;
}
