/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/changes.h — what a sandbox did to its files, to be looked at and taken back. Part of the
 * fleet: the rules of fleet.h hold.
 *
 * Whatever lies in the files is hostile, names included. What the sandbox does meanwhile may be
 * seen or not. */
#pragma once

#include "fleet/fleet.h"
#include "sandbox/change.h"

#define FLEET_CHANGES_MAX 1000 /* of one page */
#define FLEET_DIFFS_MAX 200
#define FLEET_REVERT_MAX 1000 /* paths of one request */

struct fleet_changes_ask {
	struct fleet_ref ref; /* a sandbox, or a snapshot */
	bool of_snapshot;
	/* A snapshot's name or id, or "template". NULL: of a sandbox its template, of a snapshot
	 * what it lies on. */
	const char *base;
	const char *path;  /* NULL = all */
	const char *after; /* the last path of the page before; NULL = the first page */
	unsigned limit;    /* 1..FLEET_CHANGES_MAX, or FLEET_DIFFS_MAX of diffs */
};
struct fleet_changes {
	struct sandbox_change *items; /* in the arena */
	struct span *diffs;           /* of each, by fleet_diff */
	size_t count;
	bool is_more;     /* after the last one */
	const char *base; /* id of a snapshot, or "template" */
};
/* By path, name by name; a folder before what it holds. */
MUST_CHECK int fleet_changes(struct fleet *fleet, struct arena *a,
                             const struct fleet_changes_ask *ask, struct fleet_changes *ret,
                             struct error *err);
/* With the text of each, as far as FLEET_DIFF_BYTES go. */
#define FLEET_DIFF_BYTES (8 * 1024 * 1024)
MUST_CHECK int fleet_diff(struct fleet *fleet, struct arena *a, const struct fleet_changes_ask *ask,
                          struct fleet_changes *ret, struct error *err);

struct fleet_revert {
	const char *const *paths; /* "" or "/" = all */
	size_t count;
	const char *base; /* as above */
};
/* Of one path. */
struct fleet_reverted {
	const char *path;
	unsigned restored, removed; /* entries */
	struct error err;           /* ERROR_NONE = it is as it was in the base */
};
/* Of a sandbox that is started, by its own agent, or stopped. Fails when nothing was tried; else
 * each path has its own result, in the array of `count` results. */
MUST_CHECK int fleet_revert(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                            const struct fleet_revert *request, struct fleet_reverted *ret,
                            struct error *err);
