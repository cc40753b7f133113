/* SPDX-License-Identifier: Apache-2.0 */
/* http/message/request_target.h — parses "/a%20b/c?q=1" to a decoded path, its parts and the raw
 * query. Pure.
 *
 * The path is split at literal slashes before it is decoded, so an escaped slash never changes the
 * route. It may occur in a parameter or a rest. The path has no "." or ".." part, even escaped. */
#pragma once

#include <stddef.h>

#include "base/bytes.h"
#include "http/message/fault.h"

#define TARGET_PARTS_MAX 24 /* a path may have more parts, a route may not */

struct request_target {
	const char *path; /* decoded, NUL-terminated */
	size_t path_size;
	struct span raw_path, raw_query;
	unsigned part_count;
	/* Positions of the parts in `path`; the last recorded part of a longer path extends to the
	 * end. */
	struct {
		size_t start, end;
	} parts[TARGET_PARTS_MAX];
};

/* `path_room` receives the decoded path: target.size + 1 bytes. */
enum http_fault target_parse(struct span target, char *path_room, struct request_target *ret);
