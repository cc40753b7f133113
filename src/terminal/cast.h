/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/cast.h — asciicast, version 2: a head and a line for each piece of output. Private to
 * this folder. */
#pragma once

#include "base/buf.h"

struct cast_head {
	uint32_t rows, columns;
	int64_t started_unix_ms;
	const char *title;
};
void cast_write_head(struct buf *out, const struct cast_head *head);

/* Cuts nothing in the middle of a character: what is begun waits for the next piece. */
struct cast_text {
	char begun[4];
	unsigned size;
};
/* A line, unless the bytes only begin a character. What is not UTF-8 becomes U+FFFD. */
void cast_write_output(struct buf *out, struct cast_text *text, int64_t at_us, struct span bytes);
/* A marker, which players list, that so many bytes come no more; what they would have completed, a
 * character or a control sequence, is given up. */
void cast_write_missing(struct buf *out, struct cast_text *text, int64_t at_us, uint64_t bytes);
