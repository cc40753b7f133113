/* SPDX-License-Identifier: Apache-2.0 */
/* http/unpack.h — an answer's body as it was before its Content-Encoding, of a server that packs
 * what has to be read here, whatever it was asked for. Private to this folder.
 *
 * A few bytes may stand for any number: it comes out in pieces, so many in one turn of the loop,
 * and behind the first megabytes no more than some times what went in. */
#pragma once

#include <stdbool.h>

#include "base/span.h"

/* Bytes of one turn, after which others have theirs. Some that go in cost far more than others. */
#define UNPACK_TURN_IN_MAX ((size_t)16 * 1024)
#define UNPACK_TURN_OUT_MAX ((size_t)256 * 1024)

enum unpack_coding { UNPACK_NONE, UNPACK_GZIP, UNPACK_DEFLATE, UNPACK_UNKNOWN };
/* Of the header's value, a list. One within another is UNPACK_UNKNOWN. */
enum unpack_coding unpack_coding_parse(struct span text);
enum unpack_coding unpack_coding_join(enum unpack_coding inner, enum unpack_coding outer);

struct unpacker;
struct unpacker *unpacker_new(enum unpack_coding coding);
void unpacker_free(struct unpacker *u); /* NULL is fine */

enum unpack_result {
	UNPACK_PIECE, /* *ret is the unpacker's own, until the next call */
	UNPACK_MORE,  /* `in` is used up */
	UNPACK_LATER, /* enough for one turn: there may be more of it, even if `in` is used up */
	UNPACK_BAD,   /* it makes no sense, or is too large */
};
/* Cuts off what was used. What follows the end is nobody's. */
enum unpack_result unpacker_next(struct unpacker *u, struct span *in, struct span *ret);
/* Another turn begins. */
void unpacker_turn(struct unpacker *u);
/* That nothing came at all is whole, too. */
bool unpacker_is_whole(const struct unpacker *u);
