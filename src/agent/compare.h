/* SPDX-License-Identifier: Apache-2.0 */
/* agent/compare.h — what differs between two trees of a sandbox's layers.
 *
 * Whoever wrote the trees is hostile, and may be changing one of them meanwhile: folders are opened
 * by their parent's descriptor and never through a link, contents are compared byte by byte (a
 * file's time can be set to anything), and what cannot be compared within the limits counts as
 * different. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "wire/agent_files.h"

enum tree { TREE_BASE, TREE_NOW, TREE_OVER_0, TREE_OVER_1, TREE_COUNT };

/* A folder in all trees; -1 where it is not. */
struct tree_folders {
	int fds[TREE_COUNT];
};

struct difference {
	const char *path, *name;
	const struct tree_folders *folders; /* that hold it */
	enum agent_difference_kind kind;
	bool is_cut;           /* see AGENT_IS_CUT */
	struct stat status[2]; /* TREE_BASE and TREE_NOW; st_mode 0: not there */
};

struct compare {
	/* 0 = go on, 1 = that was enough, -1 = failed. */
	int (*on_difference)(struct compare *c, const struct difference *d, struct error *err);
	void *context;
	uint64_t read_max; /* bytes of contents; what lies beyond counts as different */
	/* its own */
	struct buf path;
	unsigned depth;
};

/* All below `path` ("" = everything), or it itself, that comes after the path `after` ("" = from
 * the beginning). ERROR_NOT_FOUND when neither tree has it. 0 = all, 1 = enough, -1. */
MUST_CHECK int compare_run(struct compare *c, const struct tree_folders *roots, const char *path,
                           const char *after, struct error *err);
