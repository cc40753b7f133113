/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sync/gitignore.h — which paths .gitignore files exclude, with git's rules.
 *
 * Pure. Patterns may come from a sandbox: matching always takes time in proportion to pattern and
 * path. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "base/map.h"

#define GITIGNORE_SIZE_MAX (64 * 1024) /* of one file */

struct gitignore {
	struct arena arena;
	struct map folders; /* path, "" = the top -> struct rules */
};
void gitignore_done(struct gitignore *g);
/* Adds the .gitignore of a folder, "" or "a/b". A second one for the same folder is ignored. */
void gitignore_add(struct gitignore *g, const char *folder, struct span text);
bool gitignore_has(const struct gitignore *g, const char *folder);
/* Whether the path or one of its parent folders is excluded. */
bool gitignore_matches(const struct gitignore *g, const char *path, bool is_folder);
