/* SPDX-License-Identifier: Apache-2.0 */
/* store/holdings.h — stored objects that cost: files of stopped sandboxes, volumes, snapshots and
 * backups; their last measured size, and the time up to which they are metered.
 *
 * Sandboxes with their own disk are not included: their size is known, see usage.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "sandbox/usage_reason.h"

struct arena;
struct error;
struct store;
struct usage_record;

struct holding_record {
	const char *id, *project_id, *key_id;
	const char *sandbox_id;   /* sandbox of its usage rows; an object without a sandbox has its
	                             own id */
	enum usage_reason reason; /* STORAGE, VOLUME, SNAPSHOT or BACKUP */
	bool changes;             /* may grow while stored */
	int64_t since;            /* stored since */
	/* Zeros: not measured yet. Below zero: the measurement failed at that time. Always known
	 * for a backup. */
	int64_t bytes, measured_at;
	int64_t metered_at, unbilled_nano; /* zeros: not metered yet */
};
struct holding_list {
	struct holding_record *items;
	size_t count;
};
struct holding_page {
	const char *node;
	int64_t before;    /* not metered since, and stored before this time */
	const char *after; /* last id of the previous page; "" at first */
	const char *only;  /* only this id; NULL = all */
	int64_t limit;     /* 1..1000 */
};
/* Sorted by id. */
MUST_CHECK int store_holding_list(struct store *s, struct arena *a, const struct holding_page *page,
                                  struct holding_list *ret, struct error *err);

/* Like store_usage_write: writes nothing when the row differs from `seen`. */
struct holding_usage {
	const struct holding_record *seen;
	int64_t bytes, measured_at, metered_at, unbilled_nano; /* new values */
	const struct usage_record *rows;
	size_t row_count;
};
MUST_CHECK int store_holding_write(struct store *s, const struct holding_usage *usage,
                                   struct error *err);
/* Drops rows of removed objects. */
MUST_CHECK int store_holding_tidy(struct store *s, struct error *err);

/* Records the measured size of an object that is about to be made, until it is metered. Does
 * nothing when a size is known. */
MUST_CHECK int store_holding_expect(struct store *s, const char *id, int64_t bytes, int64_t now,
                                    struct error *err);

struct project_storage {
	int64_t templates, snapshots, backups, volumes; /* bytes, as last measured */
};
struct storage_look {
	const char *project_id;
	const char *id; /* a row to exclude; "" = none */
	int64_t before; /* objects in the making that were begun later are excluded */
};
MUST_CHECK int store_project_storage(struct store *s, const struct storage_look *look,
                                     struct project_storage *ret, struct error *err);
