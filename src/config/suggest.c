/* SPDX-License-Identifier: Apache-2.0 */
#include "config/suggest.h"

#include "config/option.h"

#define NAME_SIZE_MAX 40
#define EDITS_MAX 2

static size_t smaller_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The Levenshtein distance, computed one table row at a time. Both names fit NAME_SIZE_MAX. */
static size_t count_edits(struct span from, struct span to)
{
	size_t row[NAME_SIZE_MAX + 1];

	for (size_t j = 0; j <= to.size; j++)
		row[j] = j;
	for (size_t i = 0; i < from.size; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < to.size; j++) {
			size_t replaced = diagonal + (from.data[i] != to.data[j]);

			diagonal = row[j + 1];
			row[j + 1] = smaller_size(replaced, smaller_size(row[j], row[j + 1]) + 1);
		}
	}
	return row[to.size];
}

const char *suggest_option(struct span name)
{
	const char *nearest = NULL;
	size_t fewest = EDITS_MAX + 1;

	if (name.size > NAME_SIZE_MAX)
		return NULL;
	for (const struct config_option *o = config_options; o->name; o++) {
		size_t edits = count_edits(name, span_of(o->name));

		if (edits < fewest && edits < name.size) {
			nearest = o->name;
			fewest = edits;
		}
	}
	return nearest;
}
