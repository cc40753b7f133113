/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sync/gitignore.h — which paths .gitignore files leave out, as git has it. Private to this
 * folder.
 *
 * Pure. Patterns may come out of a sandbox: matching takes time in proportion to pattern and path,
 * whatever they are. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/span.h"

#define GITIGNORE_SIZE_MAX (64 * 1024) /* of one file */

struct gitignore {
	struct arena arena;
	struct map folders; /* path, "" = the top -> struct rules */
};
void gitignore_done(struct gitignore *g);
/* The .gitignore of a folder, "" or "a/b". The first one of a folder stays. */
void gitignore_add(struct gitignore *g, const char *folder, struct span text);
bool gitignore_has(const struct gitignore *g, const char *folder);
/* The path itself, or a folder that it is in. */
bool gitignore_matches(const struct gitignore *g, const char *path, bool is_folder);
