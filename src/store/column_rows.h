/* SPDX-License-Identifier: Apache-2.0 */
/* store/column_rows.h — macros for the rows of column tables. */
#pragma once

#include "store/column.h"

#define COLUMN_(kind_, struct_, member, type, name_)                                               \
	{                                                                                          \
		.kind = (kind_), .name = (name_), .offset = MEMBER_OFFSET(struct_, member, type)   \
	}
#define TEXT_OF(s, m) COLUMN_(COLUMN_TEXT, s, m, const char *, #m)
#define FILTER_OF(s, m) COLUMN_(COLUMN_FILTER, s, m, const char *, #m)
#define WHOLE_OF(s, m) COLUMN_(COLUMN_WHOLE, s, m, int64_t, #m)
#define NUMBER_OF(s, m) COLUMN_(COLUMN_NUMBER, s, m, double, #m)
#define BOOL_OF(s, m) COLUMN_(COLUMN_BOOL, s, m, bool, #m)
#define HASH_OF(s, m) COLUMN_(COLUMN_HASH, s, m, unsigned char[COLUMN_HASH_SIZE], #m)
#define CHOICE_OF(s, m, choice)                                                                    \
	{                                                                                          \
		.kind = COLUMN_CHOICE, .name = #m, .offset = MEMBER_OFFSET(s, m, enum choice),     \
		.word = choice##_word, .words = choice##_words                                     \
	}
/* The words of an enum `choice` whose function choice_name gives them. The database holds them:
 * they may be added to, never changed. */
#define WORDS_OF(choice, count)                                                                    \
	enum { choice##_words = (count) };                                                         \
	static const char *choice##_word(unsigned value)                                           \
	{                                                                                          \
		return choice##_name((enum choice)value);                                          \
	}
/* Defines choice_name, and the words. */
#define NAMES_OF(choice, count, ...)                                                               \
	const char *choice##_name(enum choice value)                                               \
	{                                                                                          \
		static const char *const names[(count)] = {__VA_ARGS__};                           \
		return (unsigned)value < (count) ? names[value] : "unknown";                       \
	}                                                                                          \
	WORDS_OF(choice, count)
/* `table_`: the table that the secret belongs to; all shapes of the table must use the same name,
 * or decryption fails. */
#define SECRET_(s, member, id_, name_, table_)                                                     \
	{                                                                                          \
		.kind = COLUMN_SECRET, .name = (name_),                                            \
		.offset = MEMBER_OFFSET(s, member, const char *), .binds = (table_),               \
		.owner = MEMBER_OFFSET(s, id_, const char *)                                       \
	}
#define SECRET_OF(s, m, table_) SECRET_(s, m, id, #m, table_)
#define RESOURCES_OF(s, m)                                                                         \
	COLUMN_(COLUMN_NUMBER, s, m.cpu, double, "cpu"),                                           \
	        COLUMN_(COLUMN_WHOLE, s, m.memory_mb, int64_t, "memory_mb"),                       \
	        COLUMN_(COLUMN_WHOLE, s, m.disk_mb, int64_t, "disk_mb"),                           \
	        COLUMN_(COLUMN_WHOLE, s, m.pids, int64_t, "pids")
/* A struct page_position. */
#define POSITION_OF(s, m)                                                                          \
	COLUMN_(COLUMN_WHOLE, s, m.page_at, int64_t, "page_at"),                                   \
	        COLUMN_(COLUMN_TEXT, s, m.page_id, const char *, "page_id"),                       \
	        COLUMN_(COLUMN_WHOLE, s, m.limit, int64_t, "limit")
/* The timeouts of sandbox/timeouts.h; a template and a project have the inherited ones. */
#define TIMEOUT_COLUMN(stem, off, api, short_, option, about, s, m)                                \
	COLUMN_(COLUMN_WHOLE, s, m.stem##_ms, int64_t, #stem "_ms")
#define TIMEOUTS_OF(s, m) SANDBOX_TIMEOUTS(TIMEOUT_COLUMN, s, m)
#define INHERITED_TIMEOUTS_OF(s, m) SANDBOX_INHERITED_TIMEOUTS(TIMEOUT_COLUMN, s, m)
#define END                                                                                        \
	{                                                                                          \
		.kind = COLUMN_END                                                                 \
	}
