/* SPDX-License-Identifier: Apache-2.0 */
/* http/unpack.h — an answer's body as it was before its Content-Encoding, of a server that packs
 * what has to be read here, whatever it was asked for. Private to this folder.
 *
 * A few bytes may stand for any number: it comes out in pieces, and behind the first megabytes no
 * more than some times what went in. */
#pragma once

#include <stdbool.h>

#include "base/span.h"

enum unpack_coding { UNPACK_NONE, UNPACK_GZIP, UNPACK_DEFLATE, UNPACK_UNKNOWN };
/* Of the header's value. */
enum unpack_coding unpack_coding_parse(struct span text);

struct unpacker;
struct unpacker *unpacker_new(enum unpack_coding coding);
void unpacker_free(struct unpacker *u); /* NULL is fine */

enum unpack_result {
	UNPACK_PIECE, /* *ret is the unpacker's own, until the next call */
	UNPACK_MORE,  /* `in` is used up */
	UNPACK_BAD,   /* it makes no sense, or is too large */
};
/* Cuts off what was used. What follows the end is nobody's. */
enum unpack_result unpacker_next(struct unpacker *u, struct span *in, struct span *ret);
/* That nothing came at all is whole, too. */
bool unpacker_is_whole(const struct unpacker *u);
