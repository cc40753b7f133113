/* SPDX-License-Identifier: Apache-2.0 */
/* agent/compare.h — finds the differences between two trees of a sandbox's layers.
 *
 * The trees are hostile input, and one of them may change meanwhile. So folders are opened by their
 * parent's descriptor and never through a link, and contents are compared byte by byte, because a
 * file's time can be set to any value. Files beyond the limits count as different. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "wire/agent_files.h"

enum tree { TREE_BASE, TREE_NOW, TREE_OVER_0, TREE_OVER_1, TREE_COUNT };

/* One folder in all trees; -1 where it does not exist. */
struct tree_folders {
	int fds[TREE_COUNT];
};

void tree_folders_close(struct tree_folders *f);

struct difference {
	const char *path, *name;
	const struct tree_folders *folders; /* the folders that contain the entry */
	enum agent_difference_kind kind;
	bool is_cut;           /* see AGENT_IS_CUT */
	struct stat status[2]; /* TREE_BASE and TREE_NOW; st_mode 0: it does not exist */
};

struct compare {
	/* 0 = continue, 1 = stop, -1 = failed. */
	int (*on_difference)(struct compare *c, const struct difference *d, struct error *err);
	void *context;
	uint64_t read_max; /* bytes of contents; files beyond count as different */
	/* private */
	struct buf path;
	unsigned depth;
};

/* Compares `path` and everything below it ("" = the whole trees), from behind the path `after` on
 * ("" = from the start). ERROR_NOT_FOUND when neither tree has `path`. 0 = complete, 1 = stopped by
 * on_difference, -1 = failed. */
MUST_CHECK int compare_run(struct compare *c, const struct tree_folders *roots, const char *path,
                           const char *after, struct error *err);
