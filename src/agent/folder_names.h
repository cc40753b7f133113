/* SPDX-License-Identifier: Apache-2.0 */
/* agent/folder_names.h — reads the names in a folder, sorted by bytes, without "." and "..". */
#pragma once

#include <stddef.h>

#include "base/bytes.h"

struct folder_names {
	struct buf text;   /* the names, NUL-terminated, in a row */
	const char **list; /* into it */
	size_t count;
};

/* Does not close `folder`. ERROR_LIMIT when there are too many. */
MUST_CHECK int folder_names_read(struct folder_names *ret, int folder, struct error *err);
void folder_names_done(struct folder_names *n); /* zeroed is fine */
