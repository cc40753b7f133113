/* SPDX-License-Identifier: Apache-2.0 */
/* agent/walk.h — visits every entry below an open folder, by name, a folder before its contents.
 *
 * Folders are opened by their parent's descriptor and never through a link, so a concurrent rename
 * or new link cannot lead the walk out of its folder. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/bytes.h"

#define WALK_DEPTH_MAX 256

struct walk_entry {
	int folder; /* that contains the entry */
	const char *name;
	const char *path; /* relative to the start of the walk */
	struct stat status;
	unsigned depth; /* 1 = directly in the first folder */
};

enum walk_next { WALK_ON, WALK_SKIP /* do not enter the folder */, WALK_STOP /* end the walk */ };

struct walk {
	/* An enum walk_next, or -1. */
	int (*on_entry)(struct walk *w, const struct walk_entry *entry, struct error *err);
	/* Called after a folder's contents; or NULL. 0 or -1. */
	int (*on_leave)(struct walk *w, const struct walk_entry *entry, struct error *err);
	void *context;
	unsigned depth_max;     /* 0 = WALK_DEPTH_MAX, beyond which the walk fails */
	bool passes_unreadable; /* skip folders that cannot be opened */
	struct buf path;        /* the walk's own */
};

/* WALK_ON, WALK_STOP or -1. Does not close `folder`. */
MUST_CHECK int walk_run(struct walk *w, int folder, struct error *err);
