/* SPDX-License-Identifier: Apache-2.0 */
/* store/holdings.h — what is kept and costs: files of sandboxes at rest, volumes, snapshots,
 * backups; how large each was when it was looked at last, and until when that is in the usage log.
 * Part of the store: the rules of store.h hold.
 *
 * Sandboxes with a disk of their own are not among them: their size is known, see usage.h. */
#pragma once

#include "store/usage.h"

struct holding_record {
	const char *id, *project_id, *key_id;
	const char *sandbox_id;   /* of its rows: whose it is, or, being nobody's, its own id */
	enum usage_reason reason; /* what it is: STORAGE, VOLUME, SNAPSHOT or BACKUP */
	bool changes;             /* may grow while it is kept */
	int64_t since;            /* kept since */
	/* Zeros: not measured yet; below zero: the last attempt failed then. Of a backup always
	 * known. */
	int64_t bytes, measured_at;
	int64_t metered_at, unbilled_nano; /* zeros: not metered yet */
};
struct holding_list {
	struct holding_record *items;
	size_t count;
};
struct holding_page {
	const char *node;
	int64_t before;    /* not metered since, and kept so long already */
	const char *after; /* id of the last one of the page before; "" at first */
	const char *only;  /* the one with this id; NULL = all */
	int64_t limit;     /* 1..1000 */
};
/* By id. */
MUST_CHECK int store_holding_list(struct store *s, struct arena *a, const struct holding_page *page,
                                  struct holding_list *ret, struct error *err);

/* As store_usage_write: nothing is written when `seen` is not so any more. Lazy: as of moves. */
struct holding_usage {
	const struct holding_record *seen;
	int64_t bytes, measured_at, metered_at, unbilled_nano; /* from now on */
	const struct usage_record *rows;
	size_t row_count;
};
MUST_CHECK int store_holding_write(struct store *s, const struct holding_usage *usage,
                                   struct error *err);
/* Forgets those that are gone. */
MUST_CHECK int store_holding_tidy(struct store *s, struct error *err);

/* The size of something that is about to be made, measured before: until it is metered. Does
 * nothing when its size is known. */
MUST_CHECK int store_holding_expect(struct store *s, const char *id, int64_t bytes, int64_t now,
                                    struct error *err);

/* ---- what a project keeps in all ---- */

struct project_storage {
	int64_t templates, snapshots, backups, volumes; /* bytes, as they were measured last */
};
struct storage_look {
	const char *project_id;
	const char *id; /* a row that is not counted; "" = all are */
	int64_t before; /* what is still being made and was begun later is not counted */
};
MUST_CHECK int store_project_storage(struct store *s, const struct storage_look *look,
                                     struct project_storage *ret, struct error *err);

/* ---- for the store itself ---- */

struct holding_mark {
	const char *id;
	int64_t seen_metered_at;
	int64_t bytes, measured_at, metered_at, unbilled_nano;
};
