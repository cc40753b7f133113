/* SPDX-License-Identifier: Apache-2.0 */
/* image/layers.h — walks a stack of layers as the one folder that they show. A sandbox wrote these
 * files. Only folders are opened, and no link is followed. The layers must not change during the
 * walk. */
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
	/* Inodes of folders that replace the folder of the layer below, sorted. Reading the
	 * attribute takes a capability that not every walk has. */
	struct layers_inode {
		uint64_t device, inode;
	} * opaque;
	size_t opaque_count, opaque_capacity;
};

struct layers_entry {
	int folder; /* the folder, in the layer that has the entry */
	const char *name;
	const char *path; /* from the top, without a leading "/"; "" for the top itself */
	struct stat status;
	bool is_whiteout; /* hides this name in the layers below */
	bool is_opaque;   /* a folder that hides the same folder in the layers below */
};

/* Opens "upper" of the layers `ids`, separated by spaces, below `folder`. `l` is zeroed, or its
 * descriptors are closed; noted inodes stay. */
MUST_CHECK int layers_open(struct layers *l, int folder, const char *ids, struct error *err);
/* The same for a single folder that is not a layer. Takes the descriptor. */
void layers_init(struct layers *l, int fd);
void layers_done(struct layers *l);
/* Reads the attribute of each folder; call it once, as root, before the walk. */
MUST_CHECK int layers_note_opaque(struct layers *l, struct error *err);

/* Called for each entry, a folder before its contents. -1 ends the walk. */
struct layers_walk {
	int (*on_entry)(void *context, const struct layers_entry *entry, struct error *err);
	void *context;
};
MUST_CHECK int layers_walk(const struct layers *l, const struct layers_walk *walk,
                           struct error *err);
