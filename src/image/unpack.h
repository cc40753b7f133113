/* SPDX-License-Identifier: Apache-2.0 */
/* image/unpack.h — unpacks a stranger's tar (plain, gzip, xz or zstd) into a folder.
 *
 * Refused: absolute names, "..", names through symbolic links, devices and pipes, and more than the
 * limits. What lies below dev/ is passed over, for a sandbox has its own. Owners are numbers;
 * set-uid bits stay; of extended attributes only file capabilities do. The import runs this in a
 * strict jail (jail.h) on top, so that a mistake here could write nowhere else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct unpack {
	int source_fd;
	const char *target; /* a folder, which becomes the working folder */
	int64_t size_max;   /* bytes of all files */
	bool keep_owners;   /* needs root */
	/* How much of the source has been read; not called for a source of unknown size. */
	void (*on_progress)(void *context, int percent);
	/* How many bytes there are by now; NULL: it is not asked. */
	void (*on_size)(void *context, int64_t bytes);
	void *context;
};

MUST_CHECK int unpack_archive(const struct unpack *u, struct error *err);
/* An entry's name, or a hard link's target, as unpack_archive takes it: without a leading "./".
 * *ret is NULL for what is passed over. */
MUST_CHECK int unpack_name_check(const char *name, const char **ret, struct error *err);
