/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/screen.h — the screen of a terminal after its output: libvterm's model, which only this
 * file uses. One thread at a time. */
#pragma once

#include "terminal/terminal.h"

#define SCREEN_TITLE_MAX 256

struct screen;
/* Rows and columns are within the limits of windows; a screen of one column has two. `offset`: of
 * the first byte that screen_feed gets. */
struct screen *screen_new(uint32_t rows, uint32_t columns, uint64_t offset);
void screen_free(struct screen *s); /* NULL is fine */
void screen_resize(struct screen *s, uint32_t rows, uint32_t columns);
void screen_feed(struct screen *s, struct span bytes);
uint64_t screen_offset(const struct screen *s); /* of the next byte */
size_t screen_cells(const struct screen *s);

/* All but `missing`, in the arena. */
void screen_read(struct screen *s, struct arena *a, enum terminal_form form,
                 struct terminal_screen *ret);
/* The text alone, as TERMINAL_TEXT. */
void screen_text(struct screen *s, struct buf *out);

/* Appends the bytes that a keyboard sends in the terminal's current modes. */
MUST_CHECK int screen_type_key(struct screen *s, const char *key, struct buf *out,
                               struct error *err);
void screen_type_paste(struct screen *s, const char *text, struct buf *out);
