/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/sandbox/changes.h — what a sandbox has changed in its files: list, diff, revert. The rules
 * of fleet.h apply.
 *
 * Contents and names of the files are hostile. Changes that the sandbox makes during a call may be
 * included or not. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "fleet/core/sandboxes.h"

struct arena;
struct fleet;
struct sandbox_change;
struct span;

#define FLEET_CHANGES_MAX 1000 /* of one page */
#define FLEET_DIFFS_MAX 200
#define FLEET_REVERT_MAX 1000 /* paths of one request */

struct fleet_changes_ask {
	struct fleet_ref ref; /* a sandbox, or a snapshot */
	bool of_snapshot;
	/* The base of the comparison: name or id of a snapshot, or "template". NULL: the template
	 * of a sandbox, the parent of a snapshot. */
	const char *base;
	const char *path;  /* NULL: all */
	const char *after; /* last path of the previous page; NULL: the first page */
	unsigned limit;    /* 1..FLEET_CHANGES_MAX; of diffs up to FLEET_DIFFS_MAX */
};
struct fleet_changes {
	struct sandbox_change *items; /* in the arena */
	struct span *diffs;           /* one for each item; of fleet_diff */
	size_t count;
	bool is_more;     /* further changes follow */
	const char *base; /* id of a snapshot, or "template" */
};
/* Sorted by path, name by name; a folder comes before its entries. */
MUST_CHECK int fleet_changes(struct fleet *fleet, struct arena *a,
                             const struct fleet_changes_ask *ask, struct fleet_changes *ret,
                             struct error *err);
/* fleet_changes with the text of each change, up to FLEET_DIFF_BYTES in all. */
#define FLEET_DIFF_BYTES (8 * 1024 * 1024)
MUST_CHECK int fleet_diff(struct fleet *fleet, struct arena *a, const struct fleet_changes_ask *ask,
                          struct fleet_changes *ret, struct error *err);

struct fleet_revert {
	const char *const *paths; /* "" or "/": all */
	size_t count;
	const char *base; /* as above */
};
/* The result for one path. */
struct fleet_reverted {
	const char *path;
	unsigned restored, removed; /* entries */
	struct error err;           /* ERROR_NONE: the path is as in the base */
};
/* Reverts paths of a started or a stopped sandbox; in a started one its own agent does it. Fails if
 * nothing was tried; else the array of `count` results has one for each path. */
MUST_CHECK int fleet_revert(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                            const struct fleet_revert *request, struct fleet_reverted *ret,
                            struct error *err);
