/* SPDX-License-Identifier: Apache-2.0 */
/* store/artifacts.h — files of sandboxes that are kept in the blob store after their sandbox is
 * gone. Part of the store: the rules of store.h hold. */
#pragma once

#include "store/store.h"
#include "store/usage.h"

/* MAKING: its bytes come; a maker that is gone is cleared up after. REMOVING: they go. */
enum artifact_state { ARTIFACT_MAKING, ARTIFACT_READY, ARTIFACT_REMOVING, ARTIFACT_STATE_COUNT };
const char *artifact_state_name(enum artifact_state state);

struct artifact_record {
	const char *id, *project_id, *key_id;
	const char *sandbox_id, *sandbox_name; /* which may be gone */
	const char *run;                       /* "" = none */
	const char *node;                      /* the server that has its bytes */
	const char *path;                      /* inside the sandbox */
	const char *media_type, *sha256;
	const char *secret; /* what its addresses are signed with */
	enum artifact_state state;
	int64_t process; /* that made it; 0 = none */
	const char *job; /* the background job that made it; "" = none */
	int64_t size_bytes;
	int64_t created_at, expires_at; /* 0 = it is kept */
	int64_t metered_at, unbilled_nano;
};
struct artifact_list {
	struct artifact_record *items;
	size_t count;
	const char *next_page; /* NULL at the end */
};

/* What a project may keep; 0 = no limit. */
struct artifact_limits {
	int64_t bytes_max, count_max;
};
/* MAKING, with the size that it will have at most: the project's room is taken by this. ERROR_LIMIT
 * when there is none. */
MUST_CHECK int store_artifact_insert(struct store *s, const struct artifact_record *r,
                                     const struct artifact_limits *limits, struct error *err);
/* READY with its size, sha256 and media type, and an event. ERROR_NOT_FOUND when it is not being
 * made any more. */
MUST_CHECK int store_artifact_finish(struct store *s, const struct artifact_record *r,
                                     struct error *err);
/* One that is READY. project_id NULL = any. */
MUST_CHECK int store_artifact_find(struct store *s, struct arena *a, const char *project_id,
                                   const char *id, struct artifact_record *ret, struct error *err);
struct artifact_filter {
	const char *project_id, *sandbox_id, *run, *job; /* NULL = all, but for the project */
	const char *page;                                /* next_page of the page before, or NULL */
	unsigned limit;                                  /* 1..1000 */
};
/* Those that are READY, newest first. */
MUST_CHECK int store_artifact_list(struct store *s, struct arena *a,
                                   const struct artifact_filter *filter, struct artifact_list *ret,
                                   struct error *err);
/* From READY or MAKING to REMOVING, with an event when it was READY. Fine when there is none. */
MUST_CHECK int store_artifact_retire(struct store *s, const char *id, struct error *err);
/* Its bytes are gone. Fine when there is none. */
MUST_CHECK int store_artifact_remove(struct store *s, const char *id, struct error *err);
/* This node's that are to go: REMOVING, expired by `now`, and, at boot, MAKING. */
struct artifact_due {
	const char *node;
	int64_t now;
	bool is_boot;
	int64_t limit;
};
MUST_CHECK int store_artifact_list_due(struct store *s, struct arena *a,
                                       const struct artifact_due *due, struct artifact_list *ret,
                                       struct error *err);

/* ---- metering ---- */

/* READY ones of a node that were metered before `before`, oldest first. */
MUST_CHECK int store_artifact_list_unmetered(struct store *s, struct arena *a, const char *node,
                                             int64_t before, struct artifact_list *ret,
                                             struct error *err);
/* As store_usage_write: nothing is written when `seen` is not so any more. */
struct artifact_usage {
	const struct artifact_record *seen;
	int64_t metered_at, unbilled_nano; /* from now on */
	const struct usage_record *rows;
	size_t row_count;
};
MUST_CHECK int store_artifact_usage_write(struct store *s, const struct artifact_usage *usage,
                                          struct error *err);

/* ---- for the store itself ---- */

struct artifact_page {
	const char *project_id, *sandbox_id, *run, *job;
	int64_t page_at;
	const char *page_id;
	int64_t limit;
};
struct artifact_sum {
	int64_t count, size_bytes;
};
struct artifact_mark {
	const char *id;
	int64_t seen_metered_at, metered_at, unbilled_nano;
};
