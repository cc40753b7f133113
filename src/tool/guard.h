/* SPDX-License-Identifier: Apache-2.0 */
/* tool/guard.h — checks a shell line before it runs. Pure.
 *
 * The check finds only obvious violations, because a shell can spell a path in many ways. The
 * sandbox decides what a command can reach; this check keeps a well-meaning model in its workspace
 * and tells it so. */
#pragma once

#include "base/error.h"

struct command_guard {
	const char *const *runtimes; /* of bash, python, node; NULL = all. NULL-terminated */
	const char *root; /* of the workspace; paths below it are allowed; NULL = every path is */
};
/* Refuses paths that lead out of the root, and programs of a runtime that is not listed. */
MUST_CHECK int command_guard_check(const struct command_guard *guard, const char *line,
                                   struct error *err);
