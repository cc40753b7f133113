/* SPDX-License-Identifier: Apache-2.0 */
/* agent/walk.h — every entry below an open folder, by name, folders before what they hold.
 *
 * Folders are opened by their parent's descriptor and never through a link, so a rename or a link
 * that appears meanwhile cannot lead the walk astray. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"

#define WALK_DEPTH_MAX 256

struct walk_entry {
	int folder; /* that holds it */
	const char *name;
	const char *path; /* from where the walk began */
	struct stat status;
	unsigned depth; /* 1 = directly in the first folder */
};

enum walk_next { WALK_ON, WALK_SKIP /* do not go into it */, WALK_STOP /* that was enough */ };

struct walk {
	/* An enum walk_next, or -1. */
	int (*on_entry)(struct walk *w, const struct walk_entry *entry, struct error *err);
	/* NULL, or: a folder has been gone through. 0 or -1. */
	int (*on_leave)(struct walk *w, const struct walk_entry *entry, struct error *err);
	void *context;
	unsigned depth_max;     /* 0 = WALK_DEPTH_MAX, beyond which the walk fails */
	bool passes_unreadable; /* go on past folders that may not be opened */
	struct buf path;        /* the walk's own */
};

/* WALK_ON, WALK_STOP or -1. Does not close `folder`. */
MUST_CHECK int walk_run(struct walk *w, int folder, struct error *err);
