/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/text_out.h — texts for people: tables, sizes, ages.
 *
 * Texts from a server or a sandbox pass through text_out_safe before a terminal shows them: control
 * characters become '?'. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "json/json.h"

const char *text_out_safe(struct arena *a, const char *text);
/* "1.5 GiB", "12 KiB", "7 B". */
const char *text_out_bytes(struct arena *a, double bytes);
/* "12s", "3m 5s", "2h 10m", "4d 1h". */
const char *text_out_duration(struct arena *a, int64_t ms);

/* Columns are as wide as their widest cell; the last column is not padded. */
struct text_table {
	struct arena *arena;
	unsigned columns;
	const char **cells;
	unsigned count, capacity;
};
/* `head`: the head cells, NULL-terminated. */
void table_init(struct text_table *t, struct arena *a, const char *const *head);
void table_add(struct text_table *t,
               const char *cell); /* passes through text_out_safe; NULL = "-" */
void table_print(const struct text_table *t, FILE *out);

/* Prints the value as indented JSON and a newline. */
void print_json(const struct json_value *value);
