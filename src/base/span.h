/* SPDX-License-Identifier: Apache-2.0 */
/* base/span.h — a borrowed run of bytes; never depends on a terminating NUL. */
#pragma once

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

bool span_equals(struct span a, struct span b);
bool span_equals_text(struct span a, const char *text);
bool span_starts_with(struct span a, const char *prefix);
/* The same of words whose letters may be in either case, as protocols have them; of ASCII alone. */
bool span_is_word(struct span a, const char *word);
bool span_is_same_word(struct span a, struct span b);
bool span_starts_with_word(struct span a, const char *word);
bool span_ends_with_word(struct span a, struct span word);
/* Index of the first such byte, or -1. */
ptrdiff_t span_find(struct span a, char byte);
/* Cuts off everything up to and including the first `separator`, into *ret_head. False, with
 * *ret_head the whole rest and *rest empty, when there is none. */
bool span_split(struct span *rest, char separator, struct span *ret_head);
struct span span_trim(struct span a); /* spaces and tabs */
/* Decimal digits only; refuses signs, blanks, overflow and values outside the bounds. */
MUST_CHECK int span_parse_whole(struct span a, int64_t min, int64_t max, int64_t *ret,
                                struct error *err);
/* 0..15 of a hexadecimal digit in either case, or -1. */
int hex_digit_value(char c);
/* The bytes that 2 * size digits stand for; -1 when it is not so many, or one is none: then *ret is
 * undefined. */
MUST_CHECK int hex_decode(struct span digits, void *ret, size_t size);
/* Cuts off the first byte of what is not empty, or the three of a "%41", which are one: 0..255. A
 * '%' that two digits do not follow is -1, and nothing is cut off. */
int span_take_escaped(struct span *rest);
/* True for well-formed UTF-8 (no surrogates, no overlong forms). */
bool span_is_utf8(struct span a);
/* How many bytes at the end begin a UTF-8 sequence whose rest is missing: 0..3. */
size_t span_begun(struct span bytes);
/* How many bytes at the front can only be the rest of a sequence: 0..3. */
size_t span_continued(struct span bytes);
