/* SPDX-License-Identifier: Apache-2.0 */
/* cli/files/path_argument.h — the arguments SANDBOX:PATH of cp and ls. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

struct path_argument {
	const char *sandbox; /* NULL = a local path */
	const char *path;    /* "" = the sandbox's home */
};
/* A ':' before any '/' separates a sandbox, as with scp; "./a:b" is a local file. */
MUST_CHECK int path_argument_parse(struct arena *a, const char *text, struct path_argument *ret,
                                   struct error *err);
/* The two sides of a copy; exactly one is in a sandbox. */
struct copy_targets {
	struct path_argument from, to;
	bool upload;
};
MUST_CHECK int copy_targets_parse(struct arena *a, const char *from, const char *to,
                                  struct copy_targets *ret, struct error *err);
/* Splits "LOCAL:REMOTE" of --copy at the last ':', because a local name may contain one. */
MUST_CHECK int copy_option_parse(struct arena *a, const char *text, const char **ret_local,
                                 const char **ret_remote, struct error *err);
