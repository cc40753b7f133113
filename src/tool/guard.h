/* SPDX-License-Identifier: Apache-2.0 */
/* tool/guard.h — a look at a shell line before it runs. Private to this folder, but for tests;
 * pure.
 *
 * This finds what is obvious and nothing else: a shell has a thousand ways to spell a path. What a
 * command can reach is the sandbox's business; this only keeps a well-meaning model in its
 * workspace, and says so. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

struct command_guard {
	const char *const *runtimes; /* of bash, python, node; NULL = all. NULL-terminated */
	const char *root; /* of the workspace: paths below it are fine; NULL = any path is */
};
/* Refuses paths that lead out of the root, and programs of a runtime that is not listed. */
MUST_CHECK int command_guard_check(const struct command_guard *guard, const char *line,
                                   struct error *err);
