/* SPDX-License-Identifier: Apache-2.0 */
/* http/message/content_coding.h — decodes an answer's Content-Encoding, for an upstream that
 * compresses even when asked not to.
 *
 * A few bytes may decompress to any number: output comes in pieces, with a limit per iteration of
 * the loop, and after the first megabytes with a limit on the compression ratio. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

/* Limits of an iteration, so other transfers proceed. Some input bytes cost far more than
 * others. */
#define DECODE_STEP_IN_MAX ((size_t)16 * 1024)
#define DECODE_STEP_OUT_MAX ((size_t)256 * 1024)

enum content_coding {
	CONTENT_CODING_NONE,
	CONTENT_CODING_GZIP,
	CONTENT_CODING_DEFLATE,
	CONTENT_CODING_UNKNOWN
};
/* Parses the header's value, a list. Nested codings give CONTENT_CODING_UNKNOWN. */
enum content_coding content_coding_parse(struct span text);
enum content_coding content_coding_join(enum content_coding inner, enum content_coding outer);

struct content_decoder;
struct content_decoder *content_decoder_new(enum content_coding coding);
void content_decoder_free(struct content_decoder *u); /* NULL is fine */

enum decode_result {
	DECODE_PIECE, /* *ret is the content_decoder's own, until the next call */
	DECODE_MORE,  /* `in` is consumed */
	DECODE_LATER, /* limit of the iteration reached: more output may follow even when `in` is
	                 consumed */
	DECODE_BAD,   /* malformed or too large */
};
/* Removes the used bytes from `in`. Bytes after the end are ignored. */
enum decode_result content_decoder_next(struct content_decoder *u, struct span *in,
                                        struct span *ret);
/* Begins another iteration. */
void content_decoder_begin_step(struct content_decoder *u);
/* True when the body is complete; an empty body is complete. */
bool content_decoder_is_whole(const struct content_decoder *u);
