/* SPDX-License-Identifier: Apache-2.0 */
/* agent/glob.h — matches a relative path with a pattern.
 *
 * `*` and `?` match within a name, `**` as a whole name matches any number of folders, `[a-z]` and
 * `[!a-z]` match one character, and `\` quotes the next one. Only a pattern name that begins with a
 * dot matches a name that begins with a dot. Time is at most the product of both lengths.
 *
 * `{a,b/c}` matches each of its parts and may be nested; globs_parse expands it into patterns
 * without braces. Braces without a comma and unclosed braces are plain characters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

bool glob_matches(const char *pattern, const char *path);
/* How many folders deep a match can lie; 0 = any depth. */
unsigned glob_depth(const char *pattern);

#define GLOBS_MAX 256

struct globs {
	const char *patterns[GLOBS_MAX]; /* in the arena */
	size_t count;
};
/* Refuses a pattern that expands to more than GLOBS_MAX patterns. */
int globs_parse(struct arena *a, const char *pattern, struct globs *ret, struct error *err);
/* Whether any pattern matches. */
bool globs_match(const struct globs *g, const char *path);
/* The largest glob_depth; 0 = any depth. */
unsigned globs_depth(const struct globs *g);
