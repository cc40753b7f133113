/* SPDX-License-Identifier: Apache-2.0 */
#include "http/message/content_coding.h"

#include <stdlib.h>

#include "compression/gunzip.h"

#define PIECE_SIZE ((size_t)32 * 1024)
#define RATIO_MAX 100                 /* pages reach 3 to 15, a long table 40 */
#define RATIO_FREE (INT64_C(4) << 20) /* smaller output is never refused */
#define ZLIB_METHOD 8                 /* in the low bits of a zlib header's first byte */

/* The start of a gzip member; several members form a single body. */
static const char magic[2] = {0x1f, (char)0x8b};

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
	int64_t in, out;
	size_t step_in, step_out;
	struct gunzip *stream;
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
	struct content_decoder *u = memory_new(sizeof(*u));

	u->coding = coding;
	return u;
}

void content_decoder_free(struct content_decoder *u)
{
	if (u)
		gunzip_free(u->stream);
	free(u);
}

void content_decoder_begin_step(struct content_decoder *u)
{
	u->step_in = u->step_out = 0;
}

static void consume_input(struct content_decoder *u, struct span *in, size_t size)
{
	u->in += (int64_t)size;
	u->step_in += size;
	span_skip(in, size);
}

/* "deflate" means zlib format; many servers omit the zlib header, and browsers accept both. */
static void begin_stream(struct content_decoder *u, char first)
{
	u->stream = gunzip_new(u->coding == CONTENT_CODING_GZIP ? GUNZIP_GZIP
	                       : (first & 0x0f) == ZLIB_METHOD  ? GUNZIP_ZLIB
	                                                        : GUNZIP_RAW);
	u->stage = STAGE_WITHIN;
}

static void begin_next_member(struct content_decoder *u)
{
	struct span start = {magic, sizeof(magic)};
	struct error err;

	gunzip_restart(u->stream);
	(void)!gunzip_read(u->stream, &start, u->piece, PIECE_SIZE, &err);
	u->stage = STAGE_WITHIN;
}

/* Checks a byte after the end of a member; bytes that begin no member are ignored. */
static void look_behind(struct content_decoder *u, struct span *in)
{
	char c = in->data[0];

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
	struct span part = {in->data, size};
	struct error err;
	ssize_t out = gunzip_read(u->stream, &part, u->piece, PIECE_SIZE, &err);

	if (out < 0)
		return DECODE_BAD;
	if (gunzip_is_at_end(u->stream))
		u->stage = STAGE_END;
	consume_input(u, in, size - part.size);
	*ret = (struct span){u->piece, (size_t)out};
	u->out += out;
	u->step_out += ret->size;
	if (ratio_is_exceeded((struct ratio_limit){RATIO_MAX, RATIO_FREE}, u->in, u->out))
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
