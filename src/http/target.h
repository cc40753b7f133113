/* SPDX-License-Identifier: Apache-2.0 */
/* http/target.h — "/a%20b/c?q=1" to a decoded path, its parts and the raw query. Pure.
 *
 * Parts are split at the slashes that came as slashes, then decoded, so that an escaped slash can
 * never change which route is taken. It may occur in a parameter or a rest; the path as a whole has
 * no "." or ".." part, however it was written. */
#pragma once

#include <stddef.h>

#include "base/span.h"
#include "http/fault.h"

#define TARGET_PARTS_MAX 24 /* a path may be deeper, a route may not */

struct request_target {
	const char *path; /* decoded, with NUL */
	size_t path_size;
	struct span raw_path, raw_query;
	unsigned part_count;
	/* Where parts begin in `path`, and where they end; the last recorded part of a deeper path
	 * runs to the end of the path. */
	struct {
		size_t start, end;
	} parts[TARGET_PARTS_MAX];
};

/* `path_room` takes the decoded path: target.size + 1 bytes. */
enum http_fault target_parse(struct span target, char *path_room, struct request_target *ret);
