/* SPDX-License-Identifier: Apache-2.0 */
/* base/span.h — a borrowed run of bytes; never depends on a terminating NUL. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attribute.h"
#include "base/error.h"

struct span {
	const char *data; /* may be NULL when size is 0 */
	size_t size;
};

#define SPAN(literal) ((struct span){(literal), sizeof(literal) - 1})

static inline struct span span_of(const char *text)
{
	return (struct span){text, text ? strlen(text) : 0};
}

/* What follows the first `size` bytes, of which the span has at least that many. */
static inline struct span span_after(struct span a, size_t size)
{
	assert(size <= a.size);
	return (struct span){a.data + size, a.size - size};
}
/* Removes `size` bytes from the front. */
static inline void span_skip(struct span *rest, size_t size)
{
	*rest = span_after(*rest, size);
}
/* Removes and returns at most `size_max` bytes from the front. */
static inline struct span span_take(struct span *rest, size_t size_max)
{
	struct span piece = {rest->data, rest->size < size_max ? rest->size : size_max};

	span_skip(rest, piece.size);
	return piece;
}

bool span_equals(struct span a, struct span b);
bool span_equals_text(struct span a, const char *text);
bool span_starts_with(struct span a, const char *prefix);
/* Compare ASCII words without case, as protocols require. */
bool span_is_word(struct span a, const char *word);
bool span_is_same_word(struct span a, struct span b);
bool span_starts_with_word(struct span a, const char *word);
bool span_ends_with_word(struct span a, struct span word);
/* Index of the first `byte`, or -1. */
ptrdiff_t span_find(struct span a, char byte);
/* Moves the text before the first `separator` into *ret_head and drops the separator. Without a
 * separator: returns false, *ret_head is the whole text and *rest is empty. */
bool span_split(struct span *rest, char separator, struct span *ret_head);
struct span span_trim(struct span a); /* spaces and tabs */
/* Decimal digits only; refuses signs, blanks, overflow and values outside the bounds. */
MUST_CHECK int span_parse_whole(struct span a, int64_t min, int64_t max, int64_t *ret,
                                struct error *err);
/* Value 0..15 of a hexadecimal digit in either case, or -1. */
int hex_digit_value(char c);
/* Decodes 2 * size digits into `size` bytes. Returns -1 for another number of digits or an invalid
 * digit; then *ret is undefined. */
MUST_CHECK int hex_decode(struct span digits, void *ret, size_t size);
/* Removes the first byte, or an escape such as "%41", from a span that is not empty, and returns
 * its value 0..255. Returns -1 and removes nothing for a '%' without two digits. */
int span_take_escaped(struct span *rest);
/* True for well-formed UTF-8 (no surrogates, no overlong forms). */
bool span_is_utf8(struct span a);
/* Number of bytes at the end that begin an incomplete UTF-8 sequence: 0..3. */
size_t span_begun(struct span bytes);
/* Number of bytes at the front that continue a UTF-8 sequence: 0..3. */
size_t span_continued(struct span bytes);
