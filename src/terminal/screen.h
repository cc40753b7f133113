/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/screen.h — what a terminal shows after so many bytes of output: libvterm's model, which
 * only this file uses. Private to this folder. One thread at a time. */
#pragma once

#include "terminal/terminal.h"

#define SCREEN_TITLE_MAX 256

struct screen;
/* Rows and columns are within the limits of windows; a screen of one column is shown as two.
 * `offset`: of the first byte that it is fed. */
struct screen *screen_new(uint32_t rows, uint32_t columns, uint64_t offset);
void screen_free(struct screen *s); /* NULL is fine */
void screen_resize(struct screen *s, uint32_t rows, uint32_t columns);
void screen_feed(struct screen *s, struct span bytes);
uint64_t screen_offset(const struct screen *s); /* of the byte to be fed next */
/* Bytes before the ones that it was fed. */
uint64_t screen_missing(const struct screen *s);
size_t screen_cells(const struct screen *s);

/* All but `missing`, in the arena. */
void screen_read(struct screen *s, struct arena *a, enum terminal_form form,
                 struct terminal_screen *ret);
/* The text alone, as TERMINAL_TEXT. */
void screen_text(struct screen *s, struct buf *out);

/* What a keyboard of this terminal would send now, appended to `out`. */
MUST_CHECK int screen_type_key(struct screen *s, const char *key, struct buf *out,
                               struct error *err);
void screen_type_paste(struct screen *s, const char *text, struct buf *out);
