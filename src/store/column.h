/* SPDX-License-Identifier: Apache-2.0 */
/* store/column.h — maps an SQL column to a struct member, like json's shapes.
 *
 * A shape is a table of columns. The parameters (":member") and result columns of a query are
 * looked up by name in its shapes, once, when the statement is prepared; an unknown name aborts.
 * columns_of_X describes struct X, whose members are its columns; it lies in the file of its noun,
 * see column_rows.h. */
#pragma once

#include <stddef.h>

#include "base/bytes.h"

enum column_kind {
	COLUMN_END,
	COLUMN_TEXT,   /* const char *; NULL is written as '' */
	COLUMN_SECRET, /* const char *; stored encrypted */
	COLUMN_FILTER, /* const char *, only a parameter; NULL is SQL's NULL */
	COLUMN_WHOLE,  /* int64_t */
	COLUMN_NUMBER, /* double */
	COLUMN_BOOL,   /* bool; 0 or 1 */
	COLUMN_CHOICE, /* an enum, stored as its name */
	COLUMN_HASH,   /* unsigned char[COLUMN_HASH_SIZE] */
};
#define COLUMN_HASH_SIZE 32

struct column {
	enum column_kind kind;
	const char *name;
	size_t offset;
	const char *(*word)(unsigned value); /* COLUMN_CHOICE */
	unsigned words;
	const char *binds; /* COLUMN_SECRET: the encryption is bound to this table and to the id at
	                      `owner` */
	size_t owner;
};
struct arena;
/* Copies the texts of a record into the arena; NULL becomes "". */
void columns_own(const struct column *columns, struct arena *a, void *record);
/* Finds the enum value with this name. */
MUST_CHECK int column_choose(const struct column *column, struct span text, unsigned *ret,
                             struct error *err);
