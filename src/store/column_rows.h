/* SPDX-License-Identifier: Apache-2.0 */
/* store/column_rows.h — macros for the rows of column tables. */
#pragma once

#include "store/columns.h"
#include "store/keys.h"

#define COLUMN_(kind_, struct_, member, type, name_)                                               \
	{                                                                                          \
		.kind = (kind_), .name = (name_), .offset = MEMBER_OFFSET(struct_, member, type)   \
	}
#define TEXT_OF(s, m) COLUMN_(COLUMN_TEXT, s, m, const char *, #m)
#define FILTER_OF(s, m) COLUMN_(COLUMN_FILTER, s, m, const char *, #m)
#define WHOLE_OF(s, m) COLUMN_(COLUMN_WHOLE, s, m, int64_t, #m)
#define BOOL_OF(s, m) COLUMN_(COLUMN_BOOL, s, m, bool, #m)
#define HASH_OF(s, m) COLUMN_(COLUMN_HASH, s, m, unsigned char[KEY_HASH_SIZE], #m)
#define CHOICE_OF(s, m, choice)                                                                    \
	{                                                                                          \
		.kind = COLUMN_CHOICE, .name = #m, .offset = MEMBER_OFFSET(s, m, enum choice),     \
		.word = choice##_word, .words = choice##_words                                     \
	}
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
#define IDLE_OF(s, m)                                                                              \
	COLUMN_(COLUMN_WHOLE, s, m.ms[SANDBOX_IDLE_PAUSE], int64_t, "idle_pause_ms"),              \
	        COLUMN_(COLUMN_WHOLE, s, m.ms[SANDBOX_IDLE_STOP], int64_t, "idle_stop_ms"),        \
	        COLUMN_(COLUMN_WHOLE, s, m.ms[SANDBOX_IDLE_REAP], int64_t, "idle_reap_ms"),        \
	        COLUMN_(COLUMN_WHOLE, s, m.ms[SANDBOX_IDLE_LIFETIME], int64_t, "lifetime_max_ms")
#define END                                                                                        \
	{                                                                                          \
		.kind = COLUMN_END                                                                 \
	}
