/* SPDX-License-Identifier: Apache-2.0 */
/* image/unpack.h — unpacks an untrusted tar (plain, gzip, xz or zstd) into a folder. Refused:
 * absolute names, "..", names through symbolic links, devices and pipes, and more than the limits.
 * Entries below dev/ are skipped, because a sandbox has its own /dev. Owners are numbers; set-uid
 * bits stay; of extended attributes only file capabilities do. The import runs this in a strict
 * jail (jail.h), so that a mistake here could write nowhere else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct unpack {
	int source_fd;
	const char *target; /* a folder, which becomes the working folder */
	int64_t size_max;   /* bytes of all files */
	bool keep_owners;   /* needs root */
	/* Percent of the source that has been read; not called for a source of unknown size. */
	void (*on_progress)(void *context, int percent);
	/* Bytes unpacked so far; NULL: not reported. */
	void (*on_size)(void *context, int64_t bytes);
	void *context;
};

MUST_CHECK int unpack_archive(const struct unpack *u, struct error *err);
/* Checks an entry's name, or a hard link's target, and removes a leading "./". *ret is NULL for a
 * skipped entry. */
MUST_CHECK int unpack_name_check(const char *name, const char **ret, struct error *err);
