/* SPDX-License-Identifier: Apache-2.0 */
/* base/buf.h — the growing buffer of the whole program.
 *
 * Every buffer has a limit and a sticky overflow: appends need no check, checking `overflowed` once
 * at the end is enough. data[size] is always NUL when data is not NULL, so the content can be used
 * as a C string. Running out of memory below the limit aborts. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attribute.h"
#include "base/span.h"

struct buf {
	char *data;
	size_t size;
	size_t capacity;
	size_t size_max;
	bool overflowed; /* an append did not fit and was dropped whole */
};

#define BUF(max) ((struct buf){.size_max = (max)})

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
static inline struct span buf_span(const struct buf *b)
{
	return (struct span){b->data, b->size};
}
/* The text, never NULL. */
static inline const char *buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}
