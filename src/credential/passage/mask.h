/* SPDX-License-Identifier: Apache-2.0 */
/* credential/passage/mask.h — finds values in a stream of bytes and overwrites them with '*'. Pure.
 *
 * A value is found as it is, escaped for JSON, HTML or a URL, as hexadecimal digits, and in base64
 * at any offset. Masked text has the length of the value, so that neither a Content-Length nor the
 * frames of a WebSocket change. The time for a byte does not depend on the values, because those of
 * one sandbox must not hold up the connections of others. Masking is the second line of defence: no
 * mask knows every encoding. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define MASK_VALUE_MIN 8 /* shorter values are words that answers have by chance */

struct mask;
/* Copies the values. */
struct mask *mask_new(const char *const *values, size_t count);
void mask_free(struct mask *mask); /* wipes the copies; NULL is fine */

/* Overwrites every whole value in these bytes. */
void mask_bytes(const struct mask *mask, char *data, size_t size);

/* Where the search in a stream is; zeroed at its begin. */
struct mask_stream {
	uint32_t node;
	uint32_t long_text;
	size_t long_size; /* what was found of a long value; 0: none */
	size_t clear;     /* bytes since the last value */
};
/* Of the `size` bytes, `known` were given before. */
struct mask_piece {
	char *data;
	size_t known, size;
	const char *kinds; /* of each byte; NULL: all are searched */
	char kind;         /* that is searched; others are passed over, also within a value */
};
/* Goes on with a stream. Overwrites the new bytes that end or continue a value, with those before
 * them that are still there. Returns whether a value was found. */
bool mask_next(const struct mask *mask, struct mask_stream *stream, const struct mask_piece *piece);
/* How many bytes at the end of a stream a value that is not whole yet could reach back: these are
 * kept until more comes. Does not depend on the bytes, so that its effect tells nothing. */
size_t mask_reach(const struct mask *mask);
/* How many bytes at the end of the stream begin a value, if these are at least MASK_BEGUN_MIN, else
 * 0; at most mask_reach. For a stream that pauses: nearly every byte begins some value, and a
 * message that waits for its last byte never comes. */
#define MASK_BEGUN_MIN ((size_t)4)
size_t mask_begun(const struct mask *mask, const struct mask_stream *stream);
