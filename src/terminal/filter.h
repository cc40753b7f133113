/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/filter.h — output on its way into the screen model: only whole sequences, of a form that
 * the model's library is known to take. Private to this folder.
 *
 * Output comes from a sandbox, and the library runs in this process. Version 0.1.4, Debian 12's,
 * writes past its array when a sequence has too many parameters, and never returns from a repeat
 * without a character; memory grows with endless strings and endless accents. None of that gets
 * through: parameters are counted and bounded, repeats are written out, of strings only titles
 * remain, and what is not UTF-8 is replaced. */
#pragma once

#include <stdint.h>

#include "base/buf.h"

#define FILTER_HELD_MAX 512 /* bytes of one sequence; longer ones are dropped */
/* At most so many bytes come out for one that goes in. */
#define FILTER_GROWTH_MAX 2048

struct filter {
	enum {
		FILTER_TEXT,
		FILTER_ESCAPE,
		FILTER_CSI,
		FILTER_TITLE,
		FILTER_STRING,
		FILTER_STRING_ESCAPE
	} state;
	char held[FILTER_HELD_MAX];
	unsigned size;
	bool is_title;  /* the string that ends with this escape is one */
	uint32_t rune;  /* begun */
	unsigned left;  /* of its bytes */
	uint32_t least; /* its smallest value in that many bytes */
	unsigned wide;  /* characters outside ASCII in a row */
	char last[5];   /* character, for repeats; "" = none */
};
/* A zeroed filter is at the start. Appends to `out`. */
void filter_write(struct filter *f, struct span bytes, struct buf *out);
