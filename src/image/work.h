/* SPDX-License-Identifier: Apache-2.0 */
/* image/work.h — the folder in which a template is made: DATA/templates/.NAME.partial.
 *
 *   .NAME.partial/            0700 until all is done, then renamed to NAME
 *     template.json
 *     private/root/           the root filesystem
 *     scratch/                what is needed meanwhile; removed before the rename
 *
 * Its maker holds a lock on it, which ends with the process. Whoever comes after one that was
 * killed empties it first. */
#pragma once

#include "image/image.h"

struct work {
	const struct image_job *job;
	int folder; /* of the partial folder; holds the lock */
	char path[4096 + 128];
	char root[4096 + 128];
	char scratch[4096 + 128];
};
#define WORK ((struct work){.folder = -1})

/* ERROR_CONFLICT when the template exists, or is being made by another process. */
MUST_CHECK int work_begin(struct work *w, const struct image_job *job, struct error *err);
/* All is on disk, then the template exists. */
MUST_CHECK int work_commit(struct work *w, const struct image_config *config, struct error *err);
/* Removes what was not committed. Fine on a zeroed or committed one. */
void work_done(struct work *w);
