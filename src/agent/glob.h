/* SPDX-License-Identifier: Apache-2.0 */
/* agent/glob.h — does a relative path match a pattern?
 *
 * `*` and `?` stay within a name, `**` as a whole name stands for any number of folders, `[a-z]`
 * and
 * `[!a-z]` for one character, `\` takes the next one as it is. A name that starts with a dot is
 * matched only by a pattern name that does. Time is at most the product of both lengths. */
#pragma once

#include <stdbool.h>

bool glob_matches(const char *pattern, const char *path);
/* How many folders deep a match can lie; 0 = any depth. */
unsigned glob_depth(const char *pattern);
