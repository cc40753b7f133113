/* SPDX-License-Identifier: Apache-2.0 */
/* agent/replace.h — a file that is written beside its place and then renamed there: readers see the
 * old or the new one, never half of it.
 *
 * One at a time per process. Until it is committed its temporary name is known to
 * replacement_abandon, which a signal handler may call. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "agent/base_dir.h"
#include "base/error.h"

struct replacement {
	const struct spot *spot;
	int fd; /* to write to */
	bool open;
};

struct replacement_options {
	mode_t mode;     /* of a new file */
	bool keep;       /* mode and owner of the file that is there, which must be a regular one */
	bool no_replace; /* ERROR_CONFLICT when there is one */
};

MUST_CHECK int replacement_open(struct replacement *r, const struct spot *spot,
                                const struct replacement_options *options, struct error *err);
MUST_CHECK int replacement_commit(struct replacement *r, const struct replacement_options *options,
                                  struct error *err);
/* The same; but what was there has the temporary name now, is the caller's to keep or to remove,
 * and is not abandoned. NULL with ERROR_NOT_FOUND when nothing is there, with ERROR_UNSUPPORTED by
 * file systems that cannot. */
const char *replacement_exchange(struct replacement *r, struct error *err);
/* Removes the temporary file unless it was committed. */
void replacement_done(struct replacement *r);
void replacement_abandon(void);
/* Whether a file of this name is one that is being written: nobody's business but ours. */
bool replacement_is_temporary(const char *name);
