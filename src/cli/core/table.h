/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/table.h — rows and columns of text, for people. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/bytes.h"

struct display;

/* Columns are as wide as their widest cell; the last column is not padded. */
struct text_table {
	struct arena *arena;
	unsigned columns;
	const char **cells;
	unsigned count, capacity;
	unsigned state_column; /* has colours; `columns` = none */
	bool has_head;
};
/* `head`: the head cells, NULL-terminated. The column STATE or STATUS gets colours. */
void table_init(struct text_table *t, struct arena *a, const char *const *head);
/* Removes the head: the rows continue an earlier table. */
void table_drop_head(struct text_table *t);
void table_add(struct text_table *t,
               const char *cell); /* passes through text_out_safe; NULL = "-" */
/* On a narrow display the widest columns are cut; the first column is cut only when all others are
 * at their least width, because it names the row. */
void table_print(const struct text_table *t, FILE *out, const struct display *display);
