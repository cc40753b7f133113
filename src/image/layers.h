/* SPDX-License-Identifier: Apache-2.0 */
/* image/layers.h — layers that lie on one another, walked as the one folder that they show. Private
 * to this folder.
 *
 * What a sandbox wrote is listed here: nothing is opened but folders, and no link is followed. The
 * layers must not change meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/id.h"
#include "base/path.h"

#define LAYERS_MAX 40
#define LAYERS_ENTRIES_MAX 2000000
#define LAYERS_DEPTH_MAX 256
#define LAYERS_OPAQUE "trusted.overlay.opaque"
#define LAYERS_OPAQUE_MAX 1000000

struct layers {
	int fds[LAYERS_MAX]; /* the newest first */
	unsigned count;
	/* Inodes of folders that hide what is below them, sorted: reading the attribute takes a
	 * capability that not every walk has. */
	struct layers_inode {
		uint64_t device, inode;
	} * opaque;
	size_t opaque_count, opaque_capacity;
};

struct layers_entry {
	int folder; /* of the layer that it is in */
	const char *name;
	const char *path; /* from the top, without a leading "/"; "" for the top itself */
	struct stat status;
	bool is_whiteout; /* whatever is below has no such name */
	bool is_opaque;   /* a folder: whatever is below it is hidden */
};

static inline bool layers_is_whiteout(const struct stat *status)
{
	return S_ISCHR(status->st_mode) && status->st_rdev == 0;
}

/* Ids with spaces, below `folder`: their "upper". Of zeroed ones, or of ones whose descriptors are
 * gone: what has been noted stays. */
MUST_CHECK int layers_open(struct layers *l, int folder, const char *ids, struct error *err);
/* One that is no layer of ours. The descriptor is the callee's. */
void layers_init(struct layers *l, int fd);
void layers_done(struct layers *l);
/* Reads the attribute of each folder: to be done once, by root, before the walk. */
MUST_CHECK int layers_note_opaque(struct layers *l, struct error *err);

/* Each entry of the whole, a folder before what is in it. A negative answer ends the walk. */
struct layers_walk {
	int (*on_entry)(void *context, const struct layers_entry *entry, struct error *err);
	void *context;
};
MUST_CHECK int layers_walk(const struct layers *l, const struct layers_walk *walk,
                           struct error *err);
