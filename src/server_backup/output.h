/* SPDX-License-Identifier: Apache-2.0 */
/* server_backup/output.h — the file of a backup: whole under its name, or absent. Private to this
 * folder. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct backup_output {
	const char *path;    /* of the file to be */
	const char *partial; /* the name until then; NULL: it has none, and vanishes with us */
	int folder, fd;
};
#define BACKUP_OUTPUT ((struct backup_output){.folder = -1, .fd = -1})
/* `target` is a folder, or the path of a file, which may exist only with `force`. Mode 0600. */
MUST_CHECK int backup_output_open(struct arena *a, const char *target, bool force,
                                  struct backup_output *ret, struct error *err);
/* ERROR_NO_SPACE when the disk has less than BACKUP_SPACE_MIN left. */
MUST_CHECK int backup_output_check_space(const struct backup_output *o, struct error *err);
/* Syncs it and gives it its name. */
MUST_CHECK int backup_output_finish(struct arena *a, struct backup_output *o, bool force,
                                    struct error *err);
void backup_output_close(struct backup_output *o);
