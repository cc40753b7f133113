/* SPDX-License-Identifier: Apache-2.0 */
/* base/path.h — rules about paths from untrusted callers. Pure text, no I/O. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

#define PATH_SIZE_MAX 4096
#define PATH_NAME_MAX 255

/* Makes a path inside a sandbox absolute: `path` is absolute or relative to `base`. "." and empty
 * parts are dropped; ".." is resolved as text and refused where it would leave "/". "" gives
 * `base`, which must be absolute. Refuses NUL bytes and paths over PATH_SIZE_MAX. */
MUST_CHECK int path_resolve(struct arena *a, const char *base, struct span path, const char **ret,
                            struct error *err);
/* Checks a relative workspace path: no "..", no NUL, no empty part ("a//b", "a/"). Parts "." are
 * dropped; "" and "." give ".", the workspace itself. Other paths are refused with a hint. */
MUST_CHECK int path_check_relative(struct arena *a, struct span path, const char **ret,
                                   struct error *err);
/* True for a single file name: 1..255 bytes, no '/', no NUL, not "." or "..". */
bool path_name_is_valid(struct span name);
/* The path; "/" for NULL and "": a sandbox without a working folder begins there. */
const char *path_or_root(const char *path);
/* The last part of the path, borrowed from it; "/" for the root. */
/* The order in which a walk by names visits paths: a folder's contents right after the folder. */
int path_compare(const char *a, const char *b);
const char *path_last(const char *path);
