/* SPDX-License-Identifier: Apache-2.0 */
/* base/path.h — rules about paths that untrusted callers name. Pure text, no I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attribute.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

#define PATH_SIZE_MAX 4096
#define PATH_NAME_MAX 255

/* A path inside a sandbox, absolute or relative to `base`: made absolute, without "." and empty
 * parts; ".." is resolved as text and refused where it would climb over "/". "" is `base`, which
 * must be absolute. Refuses NUL and too long ones. */
MUST_CHECK int path_resolve(struct arena *a, const char *base, struct span path, const char **ret,
                            struct error *err);
/* A path of the workspace contract: relative, no "..", no NUL, no empty name ("a//b", "a/"); parts
 * "." are dropped; "" and "." are the workspace itself, answered as ".". Refuses everything else
 * with what would be right. */
MUST_CHECK int path_check_relative(struct arena *a, struct span path, const char **ret,
                                   struct error *err);
/* One name: 1..255 bytes, no '/', no NUL, not "." or "..". */
bool path_name_is_valid(struct span name);
/* The last part; "/" for the root. Borrowed from path. */
const char *path_last(const char *path);
