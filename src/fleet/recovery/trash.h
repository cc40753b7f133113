/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/recovery/trash.h — the trash: removed things that can be brought back, see
 * provider/trash.h.
 *
 * A thing without a row in the store is an orphan; it stays in the trash for `orphans_keep`. A
 * deleted sandbox stays for `deleted_keep` if the caller asked for that; else it is deleted at
 * once. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "fleet/recovery/retention.h"

struct arena;
struct error;
struct fleet;
struct fleet_ref;
struct sandbox_record;

struct fleet_trash_counts {
	uint64_t orphans; /* moved to the trash since the start */
	uint64_t held;    /* orphans that stay in place, because they are too many */
	uint64_t entries, bytes;
};
struct fleet_trash_counts fleet_trash_counts_get(const struct fleet *fleet);

/* Brings back a deleted sandbox of the project, by its id, as a stopped one. ERROR_NOT_FOUND after
 * `deleted_keep`, ERROR_CONFLICT if another sandbox has its name by now. */
MUST_CHECK int fleet_undelete(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                              struct sandbox_record *ret, struct error *err);
/* Brings back an orphan and makes its row again. */
MUST_CHECK int fleet_trash_recover(struct fleet *fleet, const char *id, struct error *err);

struct fleet_trash_item {
	const char *kind, *reason; /* sandbox snapshot layer; orphan deleted */
	const char *id, *name;     /* name and project: "" without a row */
	const char *project_id;
	int64_t until, size_bytes; /* size -1 = not counted yet */
};
struct fleet_trash_list {
	struct fleet_trash_item *items; /* in the arena; sorted by `until` */
	size_t count;
};
/* Things that the project deleted; NULL: everything. */
MUST_CHECK int fleet_trash_list(struct fleet *fleet, struct arena *a, const char *project_id,
                                struct fleet_trash_list *ret, struct error *err);
