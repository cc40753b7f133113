/* SPDX-License-Identifier: Apache-2.0 */
/* cli/files/path_argument.h — SANDBOX:PATH, as cp and ls take it. Private to this folder. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

struct path_argument {
	const char *sandbox; /* NULL = a path of this machine */
	const char *path;    /* "" = the sandbox's home */
};
/* A ':' before any '/' makes it one of a sandbox, as with scp; "./a:b" is a local file. */
MUST_CHECK int path_argument_parse(struct arena *a, const char *text, struct path_argument *ret,
                                   struct error *err);
/* The pieces of a copy: exactly one side is a sandbox. */
struct copy_targets {
	struct path_argument from, to;
	bool upload;
};
MUST_CHECK int copy_targets_parse(struct arena *a, const char *from, const char *to,
                                  struct copy_targets *ret, struct error *err);
/* "LOCAL:REMOTE" of --copy, split at the last ':' so that a local name may hold one. */
MUST_CHECK int copy_option_parse(struct arena *a, const char *text, const char **ret_local,
                                 const char **ret_remote, struct error *err);
