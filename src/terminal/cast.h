/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/cast.h — asciicast, version 2: a head, and a line for each piece of output. */
#pragma once

#include "base/bytes.h"

struct cast_head {
	uint32_t rows, columns;
	int64_t started_unix_ms;
	const char *title;
	const char *user; /* who had it recorded; NULL = not known */
	uint64_t process; /* as the agent says; players ignore it */
};
void cast_write_head(struct buf *out, const struct cast_head *head);

/* An incomplete character, which waits for the next piece. */
struct cast_text {
	char begun[4];
	unsigned size;
};
/* Programs that write to no terminal end lines without a carriage return; players need it. */
void cast_add_returns(struct buf *out, struct span bytes);
/* Writes a line, unless the bytes only begin a character. Invalid UTF-8 becomes U+FFFD. */
void cast_write_output(struct buf *out, struct cast_text *text, int64_t at_us, struct span bytes);
/* Writes a marker, which players list, for lost bytes; drops the incomplete character or control
 * sequence before them. */
void cast_write_missing(struct buf *out, struct cast_text *text, int64_t at_us, uint64_t bytes);
