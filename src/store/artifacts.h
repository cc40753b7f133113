/* SPDX-License-Identifier: Apache-2.0 */
/* store/artifacts.h — files of sandboxes that the blob store keeps after the sandbox is gone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;
struct usage_record;

/* MAKING: bytes are being stored; recovery removes the rest when the maker is gone. REMOVING: bytes
 * are being removed. */
enum artifact_state { ARTIFACT_MAKING, ARTIFACT_READY, ARTIFACT_REMOVING, ARTIFACT_STATE_COUNT };

struct artifact_record {
	const char *id, *project_id, *key_id;
	const char *sandbox_id, *sandbox_name; /* the sandbox may be gone */
	const char *run;                       /* "" = none */
	const char *node;                      /* the server that has the bytes */
	const char *path;                      /* inside the sandbox */
	const char *media_type, *sha256;
	const char *secret; /* signs its download addresses */
	enum artifact_state state;
	int64_t process; /* the process that made it; 0 = none */
	const char *job; /* the background job that made it; "" = none */
	int64_t size_bytes;
	int64_t created_at, expires_at; /* expires_at 0 = never */
	int64_t metered_at, unbilled_nano;
};
struct artifact_list {
	struct artifact_record *items;
	size_t count;
	const char *next_page; /* NULL at the end */
};

/* Limits of a project; 0 = none. */
struct artifact_limits {
	int64_t bytes_max, count_max;
};
/* Inserts a row in MAKING with its largest possible size, which counts against the project's limit.
 * ERROR_LIMIT when the limit is reached. */
MUST_CHECK int store_artifact_insert(struct store *s, const struct artifact_record *r,
                                     const struct artifact_limits *limits, struct error *err);
/* Sets READY, size, sha256 and media type, and adds an event. ERROR_NOT_FOUND when the row is no
 * longer MAKING. */
MUST_CHECK int store_artifact_finish(struct store *s, const struct artifact_record *r,
                                     struct error *err);
/* Finds a READY artifact. project_id NULL = any. */
MUST_CHECK int store_artifact_find(struct store *s, struct arena *a, const char *project_id,
                                   const char *id, struct artifact_record *ret, struct error *err);
struct artifact_filter {
	const char *project_id, *sandbox_id, *run, *job; /* NULL = all; project_id is required */
	const char *page; /* next_page of the previous page, or NULL */
	unsigned limit;   /* 1..1000 */
};
/* READY artifacts, newest first. */
MUST_CHECK int store_artifact_list(struct store *s, struct arena *a,
                                   const struct artifact_filter *filter, struct artifact_list *ret,
                                   struct error *err);
/* Moves READY or MAKING to REMOVING; adds an event for READY. No error without a row. */
MUST_CHECK int store_artifact_retire(struct store *s, const char *id, struct error *err);
/* Removes the row after its bytes were removed. No error without a row. */
MUST_CHECK int store_artifact_remove(struct store *s, const char *id, struct error *err);
/* Artifacts of a node that must be removed: REMOVING, expired by `now`, and, with is_boot,
 * MAKING. */
struct artifact_due {
	const char *node;
	int64_t now;
	bool is_boot;
	int64_t limit;
};
MUST_CHECK int store_artifact_list_due(struct store *s, struct arena *a,
                                       const struct artifact_due *due, struct artifact_list *ret,
                                       struct error *err);

/* READY artifacts of a node that were last metered before `before`, oldest first. */
MUST_CHECK int store_artifact_list_unmetered(struct store *s, struct arena *a, const char *node,
                                             int64_t before, struct artifact_list *ret,
                                             struct error *err);
/* Like store_usage_write: writes nothing when the row differs from `seen`. */
struct artifact_usage {
	const struct artifact_record *seen;
	int64_t metered_at, unbilled_nano; /* new values */
	const struct usage_record *rows;
	size_t row_count;
};
MUST_CHECK int store_artifact_usage_write(struct store *s, const struct artifact_usage *usage,
                                          struct error *err);
