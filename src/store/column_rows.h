/* SPDX-License-Identifier: Apache-2.0 */
/* store/column_rows.h — macros for tables of columns; columns.py makes the rows from the structs.
 */
#pragma once

#include "store/column.h"
#include "store/columns.h"

#define COLUMN_(kind_, struct_, member, type, name_)                                               \
	{                                                                                          \
		.kind = (kind_), .name = (name_), .offset = MEMBER_OFFSET(struct_, member, type)   \
	}
#define CHOICE_(struct_, member, choice, name_)                                                    \
	{                                                                                          \
		.kind = COLUMN_CHOICE, .name = (name_),                                            \
		.offset = MEMBER_OFFSET(struct_, member, enum choice), .word = choice##_word,      \
		.words = choice##_words                                                            \
	}
#define SECRET_(struct_, member, owner_, name_, table_)                                            \
	{                                                                                          \
		.kind = COLUMN_SECRET, .name = (name_),                                            \
		.offset = MEMBER_OFFSET(struct_, member, const char *), .binds = (table_),         \
		.owner = MEMBER_OFFSET(struct_, owner_, const char *)                              \
	}
/* The table of a struct that queries take or give. */
#define COLUMNS_OF(struct_)                                                                        \
	const struct column columns_of_##struct_[] = {ROWS_OF_##struct_{.kind = COLUMN_END}}
/* The words of an enum `choice` whose function choice_name gives them. The database holds them:
 * they may be added to, never changed. */
#define WORDS_OF(choice, count)                                                                    \
	enum { choice##_words = (count) };                                                         \
	static const char *choice##_word(unsigned value)                                           \
	{                                                                                          \
		return choice##_name((enum choice)value);                                          \
	}
/* The same when no function gives them. */
#define TEXTS_OF(choice, count, ...)                                                               \
	enum { choice##_words = (count) };                                                         \
	static const char *choice##_word(unsigned value)                                           \
	{                                                                                          \
		static const char *const texts[(count)] = {__VA_ARGS__};                           \
		return value < (count) ? texts[value] : "unknown";                                 \
	}
/* Defines choice_name, and the words. */
#define NAMES_OF(choice, count, ...)                                                               \
	TEXTS_OF(choice, count, __VA_ARGS__)                                                       \
	const char *choice##_name(enum choice value)                                               \
	{                                                                                          \
		return choice##_word((unsigned)value);                                             \
	}
