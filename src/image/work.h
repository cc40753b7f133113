/* SPDX-License-Identifier: Apache-2.0 */
/* image/work.h — the folder in which a template is made: DATA/templates/.NAME.partial.
 *
 *   .NAME.partial/   0700; renamed to NAME when all is done
 *     rootfs/        the root filesystem
 *     scratch/       what is needed meanwhile; removed before the rename
 *
 * Its maker holds a lock on it, which ends with the process. Whoever comes after one that was
 * killed empties it first. The data folder belongs to atolld's user, who might rename what lies in
 * it at any moment: so the folders are held by descriptors, and all paths here lead through those.
 */
#pragma once

#include "image/image.h"
#include "image/jail.h"

struct work {
	const struct image_spec *spec;
	int templates; /* DATA/templates, root's */
	int folder;    /* the partial folder; holds the lock */
	char path[64], root[96], scratch[96];
};
#define WORK ((struct work){.templates = -1, .folder = -1})

/* The same two, as a program in a jail of this folder sees them. */
#define WORK_ROOT JAIL_FOLDER "/" IMAGE_ROOT
#define WORK_SCRATCH JAIL_FOLDER "/scratch"

/* ERROR_CONFLICT when the template exists, or is being made by another process. */
MUST_CHECK int work_begin(struct work *w, const struct image_spec *spec, struct error *err);
/* All is on disk, then the template exists. */
MUST_CHECK int work_commit(struct work *w, const struct image_config *config, struct error *err);
/* Removes what was not committed. Fine on a zeroed or committed one. */
void work_done(struct work *w);
