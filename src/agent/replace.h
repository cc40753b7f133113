/* SPDX-License-Identifier: Apache-2.0 */
/* agent/replace.h — replaces a file atomically: writes a temporary file beside it and renames that.
 * Readers see the old or the new file.
 *
 * One at a time per process. Until the commit replacement_abandon, which a signal handler may call,
 * knows the temporary name. */
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
	bool keep;       /* mode and owner of the existing file, which must be regular */
	bool no_replace; /* ERROR_CONFLICT when the file exists */
};

MUST_CHECK int replacement_open(struct replacement *r, const struct spot *spot,
                                const struct replacement_options *options, struct error *err);
MUST_CHECK int replacement_commit(struct replacement *r, const struct replacement_options *options,
                                  struct error *err);
/* Commits by an exchange: returns the temporary name, which the old file has now and which the
 * caller keeps or removes. NULL with ERROR_NOT_FOUND when there is no old file, with
 * ERROR_UNSUPPORTED where the file system has no exchange. */
const char *replacement_exchange(struct replacement *r, struct error *err);
/* Removes the temporary file unless it was committed. */
void replacement_done(struct replacement *r);
void replacement_abandon(void);
/* Whether this is the name of a temporary file; such files are hidden from callers. */
bool replacement_is_temporary(const char *name);
