/* SPDX-License-Identifier: Apache-2.0 */
/* base/bytes.h — bytes in memory: a span borrows them, a buffer grows, an arena frees all of a
 * request's memory at once. */
#pragma once

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

/* A borrowed run of bytes; never depends on a terminating NUL. */
struct span {
	const char *data; /* may be NULL when size is 0 */
	size_t size;
};

#define SPAN(literal) ((struct span){(literal), sizeof(literal) - 1})

static inline struct span span_of(const char *text)
{
	return (struct span){text, text ? strlen(text) : 0};
}

/* Where "" and NULL both stand for no text. */
static inline const char *text_or_null(const char *text)
{
	return text && *text ? text : NULL;
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
/* Writes 2 * size digits in lower case and a zero byte. */
void hex_encode(const void *bytes, size_t size, char *ret);
/* "sha256:" and 64 digits in lower case: the digest of an image. */
bool text_is_sha256(const char *text);
/* Removes the first byte, or an escape such as "%41", from a span that is not empty, and returns
 * its value 0..255. Returns -1 and removes nothing for a '%' without two digits. */
int span_take_escaped(struct span *rest);
/* True for well-formed UTF-8 (no surrogates, no overlong forms). */
bool span_is_utf8(struct span a);
/* Number of bytes of the first character of a text in UTF-8, if it acts on a terminal or shows the
 * text in another order than its bytes have: controls (C0, DEL, C1), marks of direction, separators
 * of lines. Else 0. */
size_t span_hostile(struct span text);
/* Number of bytes at the end that begin an incomplete UTF-8 sequence: 0..3. */
size_t span_begun(struct span bytes);
/* Number of bytes at the front that continue a UTF-8 sequence: 0..3. */
size_t span_continued(struct span bytes);

/* The memory of one request: allocated piece by piece, freed at once.
 *
 * Used by one thread at a time. Memory comes zeroed and aligned for any type. Running out of
 * memory aborts; callers limit sizes before they allocate. */
struct arena_block;
struct arena {
	struct arena_block *blocks; /* newest first */
	size_t total;               /* bytes handed out since the last reset */
	bool is_secret;             /* what it frees is overwritten first */
};

/* Says that a secret is in the arena, until arena_done or arena_reset. */
static inline void arena_note_secret(struct arena *a)
{
	a->is_secret = true;
}

void arena_done(struct arena *a);  /* frees everything */
void arena_wipe(struct arena *a);  /* the same, with secrets */
void arena_reset(struct arena *a); /* frees all but one block, for the next request */
/* The position of an arena. arena_rewind frees everything allocated after it. The arena must not be
 * reset in between. */
struct arena_mark {
	struct arena_block *head, *behind;
	size_t used, total;
};
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, const struct arena_mark *mark);
void *arena_alloc(struct arena *a, size_t size);
/* As memory_grow; `items` stay in the arena. */
void *arena_grow(struct arena *a, void *items, size_t count, size_t *capacity, size_t item_size);
char *arena_copy(struct arena *a, struct span s); /* NUL-terminated */
char *arena_text(struct arena *a, const char *text);
char *arena_format(struct arena *a, const char *format, ...) PRINTF(2, 3);
#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, count) ((type *)arena_alloc((a), sizeof(type) * (count)))

/* The growing buffer of the whole program.
 *
 * Every buffer has a limit and a sticky overflow: appends need no check, checking `overflowed` once
 * at the end is enough. data[size] is always NUL when data is not NULL, so the content can be used
 * as a C string. Running out of memory below the limit aborts. */
struct buf {
	char *data;
	size_t size;
	size_t capacity;
	size_t size_max;
	bool overflowed; /* an append did not fit and was dropped whole */
	bool is_secret;  /* memory that it frees is overwritten first, also when it grows */
};

#define BUF(max) ((struct buf){.size_max = (max)})
#define BUF_SECRET(max) ((struct buf){.size_max = (max), .is_secret = true})

void buf_done(struct buf *b);  /* frees; the buffer may be used again */
void buf_reset(struct buf *b); /* empties, keeps the memory, clears overflowed */
void buf_add(struct buf *b, const void *data, size_t size);
void buf_add_span(struct buf *b, struct span s);
void buf_add_text(struct buf *b, const char *text);
void buf_add_byte(struct buf *b, char byte);
void buf_addf(struct buf *b, const char *format, ...) PRINTF(2, 3);
void buf_addv(struct buf *b, const char *format, va_list args) PRINTF(2, 0);
/* Returns room for `size` more bytes; call buf_commit afterwards. Returns NULL, and sets
 * overflowed, past the limit. */
char *buf_reserve(struct buf *b, size_t size);
void buf_commit(struct buf *b, size_t size);
/* Drops the first `size` bytes. */
void buf_consume(struct buf *b, size_t size);
/* buf_done for secrets: overwrites them first. What the buffer left behind when it grew stays, but
 * with BUF_SECRET. */
void buf_wipe(struct buf *b);
static inline struct span buf_span(const struct buf *b)
{
	return (struct span){b->data, b->size};
}
/* The text, never NULL. */
static inline const char *buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}
