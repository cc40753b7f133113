/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/filter.h — filters output before the screen model: passes only complete sequences that
 * libvterm handles safely.
 *
 * The output comes from a sandbox, and libvterm runs in this process. Version 0.1.4 (Debian 12)
 * writes past its array when a sequence has too many parameters, loops for ever on a repeat without
 * a character, and uses unbounded memory for strings and combining characters. So the filter bounds
 * parameters, expands repeats, drops all strings but titles, and replaces invalid UTF-8. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

#define FILTER_HELD_MAX 512 /* bytes of one sequence; longer ones are dropped */
/* Largest number of output bytes for one input byte. */
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
	bool is_title;  /* the string that ends with this escape is a title */
	uint32_t rune;  /* incomplete character */
	unsigned left;  /* its missing bytes */
	uint32_t least; /* its smallest value in that many bytes */
	unsigned wide;  /* characters outside ASCII in a row */
	char last[5];   /* character, for repeats; "" = none */
};
/* A zeroed filter is valid. Appends to `out`. */
void filter_write(struct filter *f, struct span bytes, struct buf *out);
