/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/trash.h — what was removed and can be brought back: see provider/trash.h.
 *
 * Whatever no row of the store knows is an orphan and goes there for `orphans_keep`. A sandbox that
 * a caller deleted goes there for `deleted_keep` when the caller asked for that; else it is deleted
 * at once. */
#pragma once

#include "fleet/fleet.h"

struct fleet_trash_counts {
	uint64_t orphans; /* put there since the start */
	uint64_t held;    /* orphans that were left, because they were too many */
	uint64_t entries, bytes;
};
struct fleet_trash_counts fleet_trash_counts_get(const struct fleet *fleet);

/* As fleet_delete, but for `deleted_keep` it can be brought back. ERROR_UNSUPPORTED for an archived
 * one. */
MUST_CHECK int fleet_delete_kept(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                 struct error *err);
/* A deleted one of the project, by its id: it is stopped then. ERROR_NOT_FOUND when its time is
 * over, ERROR_CONFLICT when another one has its name by now. */
MUST_CHECK int fleet_undelete(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                              struct sandbox_record *ret, struct error *err);
/* The same for an orphan, whose row is made again. */
MUST_CHECK int fleet_trash_recover(struct fleet *fleet, const char *id, struct error *err);

struct fleet_trash_item {
	const char *kind, *reason; /* sandbox snapshot layer; orphan deleted */
	const char *id, *name;     /* name, project: "" when no row knows it */
	const char *project_id;
	int64_t until, size_bytes; /* size -1 = not counted yet */
};
struct fleet_trash_list {
	struct fleet_trash_item *items; /* in the arena; the first that is due comes first */
	size_t count;
};
/* What the project deleted; NULL = everything. */
MUST_CHECK int fleet_trash_list(struct fleet *fleet, struct arena *a, const char *project_id,
                                struct fleet_trash_list *ret, struct error *err);

/* In down.c: stops what runs, of every project, until the deadline; `left` still runs then. */
struct fleet_stop {
	int64_t deadline;
	/* The server ends next: from now on, and for a minute more than a drain takes, nothing is
	 * made or started (gate.h). */
	bool for_good;
};
struct fleet_stopped {
	int64_t stopped, left;
};
MUST_CHECK int fleet_stop_all(struct fleet *fleet, const struct fleet_stop *how,
                              struct fleet_stopped *ret, struct error *err);
