/* SPDX-License-Identifier: Apache-2.0 */
/* store/activity.h — what was called in sandboxes: one row for each command, block of code, tool
 * call and file operation.
 *
 * Rows have one order for all servers, by `sequence`, as events have. They outlive their sandbox.
 * activity/activity.h writes them in batches. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct event_bounds;
struct event_retention;
struct store;

enum activity_kind {
	ACTIVITY_COMMAND,
	ACTIVITY_CODE,
	ACTIVITY_TOOL,
	ACTIVITY_FILE,
	ACTIVITY_KIND_COUNT,
};
const char *activity_kind_name(enum activity_kind kind);

/* UNKNOWN: the server did not see the end, because the client left before it. */
enum activity_outcome {
	ACTIVITY_UNKNOWN,
	ACTIVITY_OK,
	ACTIVITY_FAILED,
	ACTIVITY_OUTCOME_COUNT,
};
const char *activity_outcome_name(enum activity_outcome outcome);

struct activity_record {
	int64_t sequence, at, written_at; /* at: of the begin */
	const char *project_id, *sandbox_id;
	enum activity_kind kind;
	const char *operation;                       /* "exec", "bash", "write", … */
	const char *arguments;                       /* may be cut */
	const char *user_id, *key_id, *conversation; /* "" = none */
	enum activity_outcome outcome;
	int64_t exit_code; /* -1 = none */
	const char *error; /* for people; "" = none */
	int64_t duration_ms, output_bytes;
	const char *head, *tail, *encoding; /* encoding: "" = text, else "base64" */
	const char *artifacts_json;         /* [{"id":…,"path":…}]; "" = none */
};
struct activity_list {
	struct activity_record *items; /* oldest first */
	size_t count;
};

/* Adds the rows in one transaction, which does not wait for the disk. The store sets `sequence`,
 * and the user of a row that has only a key. */
struct activity_batch {
	const struct activity_record *const *items;
	size_t count;
};
MUST_CHECK int store_activity_add(struct store *s, const struct activity_batch *batch,
                                  struct error *err);

/* Selects rows; NULL = any. */
struct activity_filter {
	const char *project_id, *sandbox_id, *kind, *user_id, *key_id, *conversation;
};
struct activity_page {
	struct activity_filter filter;
	int64_t after, before; /* exclusive; before 0 = no bound */
	int64_t limit;         /* 1..1000 */
	bool newest;           /* the last `limit` rows instead of the first */
};
MUST_CHECK int store_activity_list(struct store *s, struct arena *a,
                                   const struct activity_page *page, struct activity_list *ret,
                                   struct error *err);
/* As store_event_bounds and store_event_purge. */
MUST_CHECK int store_activity_bounds(struct store *s, struct event_bounds *ret, struct error *err);
MUST_CHECK int store_activity_purge(struct store *s, const struct event_retention *keep,
                                    bool *ret_more, struct error *err);
/* Drops the oldest rows of a sandbox beyond `count_max`. */
MUST_CHECK int store_activity_trim(struct store *s, const char *sandbox_id, int64_t count_max,
                                   struct error *err);
