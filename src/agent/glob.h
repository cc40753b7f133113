/* SPDX-License-Identifier: Apache-2.0 */
/* agent/glob.h — does a relative path match a pattern?
 *
 * `*` and `?` stay within a name, `**` as a whole name stands for any number of folders, `[a-z]`
 * and
 * `[!a-z]` for one character, `\` takes the next one as it is. A name that starts with a dot is
 * matched only by a pattern name that does. Time is at most the product of both lengths.
 *
 * `{a,b/c}` stands for each of its parts and may lie in another one: such a pattern is taken apart
 * into patterns without braces first. Braces without a comma, and those that are left open, are
 * characters like others. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

bool glob_matches(const char *pattern, const char *path);
/* How many folders deep a match can lie; 0 = any depth. */
unsigned glob_depth(const char *pattern);

#define GLOBS_MAX 256

struct globs {
	const char *patterns[GLOBS_MAX]; /* in the arena */
	size_t count;
};
/* Refuses what stands for more than GLOBS_MAX patterns. */
int globs_parse(struct arena *a, const char *pattern, struct globs *ret, struct error *err);
/* Whether one of them does. */
bool globs_match(const struct globs *g, const char *path);
/* Of the one that reaches deepest; 0 = any depth. */
unsigned globs_depth(const struct globs *g);
