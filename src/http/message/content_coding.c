/* SPDX-License-Identifier: Apache-2.0 */
#include "http/message/content_coding.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/attribute.h"

#define PIECE_SIZE ((size_t)32 * 1024)
#define RATIO_MAX 100                  /* pages reach 3 to 15, a long table 40 */
#define RATIO_FREE ((uint64_t)4 << 20) /* smaller output is never refused */
#define WINDOW 15                      /* of zlib's: the largest */
#define WITH_GZIP 16

/* The start of a gzip member; several members form a single body. */
static const unsigned char magic[2] = {0x1f, 0x8b};

enum decode_stage {
	STAGE_BEFORE,
	STAGE_WITHIN,
	STAGE_END,   /* another member may begin */
	STAGE_MAGIC, /* the first magic byte was seen */
	STAGE_BEHIND,
};

struct content_decoder {
	enum content_coding coding;
	enum decode_stage stage;
	uint64_t in, out;
	size_t step_in, step_out;
	z_stream stream;
	char piece[PIECE_SIZE];
};

static enum content_coding parse_coding(struct span text)
{
	if (text.size == 0 || span_is_word(text, "identity"))
		return CONTENT_CODING_NONE;
	if (span_is_word(text, "gzip") || span_is_word(text, "x-gzip"))
		return CONTENT_CODING_GZIP;
	return span_is_word(text, "deflate") ? CONTENT_CODING_DEFLATE : CONTENT_CODING_UNKNOWN;
}

enum content_coding content_coding_join(enum content_coding inner, enum content_coding outer)
{
	if (inner != CONTENT_CODING_NONE && outer != CONTENT_CODING_NONE)
		return CONTENT_CODING_UNKNOWN;
	return inner != CONTENT_CODING_NONE ? inner : outer;
}

enum content_coding content_coding_parse(struct span text)
{
	enum content_coding coding = CONTENT_CODING_NONE;
	struct span one;
	bool more = true;

	while (more) {
		more = span_split(&text, ',', &one);
		coding = content_coding_join(coding, parse_coding(span_trim(one)));
	}
	return coding;
}

struct content_decoder *content_decoder_new(enum content_coding coding)
{
	struct content_decoder *u = calloc(1, sizeof(*u));

	if (!u)
		abort();
	u->coding = coding;
	return u;
}

void content_decoder_free(struct content_decoder *u)
{
	if (u && u->stage != STAGE_BEFORE)
		(void)inflateEnd(&u->stream);
	free(u);
}

void content_decoder_begin_step(struct content_decoder *u)
{
	u->step_in = u->step_out = 0;
}

static void consume_input(struct content_decoder *u, struct span *in, size_t size)
{
	u->in += size;
	u->step_in += size;
	*in = (struct span){in->data + size, in->size - size};
}

/* "deflate" means zlib format; many servers omit the zlib header, and browsers accept both. */
static void begin_stream(struct content_decoder *u, char first)
{
	int window = u->coding == CONTENT_CODING_GZIP ? WINDOW + WITH_GZIP
	             : (first & 0x0f) == Z_DEFLATED   ? WINDOW
	                                              : -WINDOW;

	if (inflateInit2(&u->stream, window) != Z_OK)
		abort();
	u->stage = STAGE_WITHIN;
}

static void begin_next_member(struct content_decoder *u)
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

/* Checks a byte after the end of a member; bytes that begin no member are ignored. */
static void look_behind(struct content_decoder *u, struct span *in)
{
	unsigned char c = (unsigned char)in->data[0];

	consume_input(u, in, 1);
	if (u->coding == CONTENT_CODING_GZIP && u->stage == STAGE_END && c == magic[0])
		u->stage = STAGE_MAGIC;
	else if (u->stage == STAGE_MAGIC && c == magic[1])
		begin_next_member(u);
	else
		u->stage = STAGE_BEHIND;
}

static enum decode_result decompress_piece(struct content_decoder *u, struct span *in,
                                           struct span *ret)
{
	size_t room = DECODE_STEP_IN_MAX - u->step_in, size = in->size < room ? in->size : room;
	z_stream *z = &u->stream;
	int status;

	z->next_in = (unsigned char *)(uintptr_t)in->data;
	z->avail_in = (unsigned)size;
	z->next_out = (unsigned char *)u->piece;
	z->avail_out = PIECE_SIZE;
	status = inflate(z, Z_NO_FLUSH);
	/* Z_BUF_ERROR without input only means that there was nothing to do. */
	if (status != Z_OK && status != Z_STREAM_END && (status != Z_BUF_ERROR || size > 0))
		return DECODE_BAD;
	if (status == Z_STREAM_END)
		u->stage = STAGE_END;
	consume_input(u, in, size - z->avail_in);
	*ret = (struct span){u->piece, PIECE_SIZE - z->avail_out};
	u->out += ret->size;
	u->step_out += ret->size;
	if (u->out > RATIO_FREE && u->out / RATIO_MAX > u->in)
		return DECODE_BAD;
	return ret->size > 0 ? DECODE_PIECE : DECODE_MORE;
}

enum decode_result content_decoder_next(struct content_decoder *u, struct span *in,
                                        struct span *ret)
{
	enum decode_result result;

	while (u->stage != STAGE_BEHIND && (in->size > 0 || u->stage == STAGE_WITHIN)) {
		if (u->step_in >= DECODE_STEP_IN_MAX || u->step_out >= DECODE_STEP_OUT_MAX)
			return DECODE_LATER;
		if (u->stage == STAGE_END || u->stage == STAGE_MAGIC) {
			look_behind(u, in);
			continue;
		}
		if (u->stage == STAGE_BEFORE)
			begin_stream(u, in->data[0]);
		result = decompress_piece(u, in, ret);
		if (result != DECODE_MORE || in->size == 0)
			return result;
	}
	in->size = 0;
	return DECODE_MORE;
}

bool content_decoder_is_whole(const struct content_decoder *u)
{
	return u->stage != STAGE_WITHIN;
}
