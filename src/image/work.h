/* SPDX-License-Identifier: Apache-2.0 */
/* image/work.h — the folder in which a template is made: DATA/templates/.NAME.partial.
 * .NAME.partial/ has mode 0700 and is renamed to NAME when all is done. It contains rootfs/ (the
 * root filesystem) and scratch/ (removed before the rename). The builder holds a lock on the
 * folder, which ends with its process. A builder that finds the folder of a killed builder empties
 * it first. The data folder belongs to atolld's user, which may rename its entries at any moment,
 * so all paths here lead through open descriptors. */
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

/* The same two folders, as a program in a jail of this folder sees them. */
#define WORK_ROOT JAIL_FOLDER "/" IMAGE_ROOT
#define WORK_SCRATCH JAIL_FOLDER "/scratch"

/* ERROR_CONFLICT when the template exists, or is being made by another process. */
MUST_CHECK int work_begin(struct work *w, const struct image_spec *spec, struct error *err);
/* Writes everything to disk and renames the folder: then the template exists. */
MUST_CHECK int work_commit(struct work *w, const struct image_config *config, struct error *err);
/* Removes the folder unless it was committed. A zeroed struct is fine. */
void work_done(struct work *w);
