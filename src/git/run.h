/* SPDX-License-Identifier: Apache-2.0 */
/* git/run.h — runs one git process to its end. */
#pragma once

#include "base/bytes.h"
#include "git/git.h"

struct compute_result;

#define GIT_ARGS_MAX 32

/* Arguments of git after "git" and, unless `elsewhere` is set, "-C PATH". */
struct git_invocation {
	const char *args[GIT_ARGS_MAX]; /* NULL-terminated */
	const char *const *paths;       /* after "--"; NULL = none, and no "--" */
	const char *env[8];             /* overrides the environment; NULL-terminated */
	const struct git_login *login;  /* for `server`; or NULL */
	const char *server;             /* by git_server_of */
	struct span input;
	bool elsewhere;
};
/* Fails when git fails, and then sets at->failure. ERROR_UNSUPPORTED without git in the sandbox. */
MUST_CHECK int git_run(struct git_at *at, struct arena *a, const struct git_invocation *what,
                       struct compute_result *ret, struct error *err);
/* The same, but git's exit code is a result and not a failure. */
MUST_CHECK int git_run_any_exit(struct git_at *at, struct arena *a,
                                const struct git_invocation *what, struct compute_result *ret,
                                struct error *err);
/* At least one path, and no empty path. Paths may be absolute. */
MUST_CHECK int git_check_paths(const char *const *paths, struct error *err);
/* The first line of a result. */
const char *git_first_line(struct arena *a, const struct compute_result *result);
