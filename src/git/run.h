/* SPDX-License-Identifier: Apache-2.0 */
/* git/run.h — one git, started and read to its end. Private to this folder. */
#pragma once

#include "git/git.h"

struct compute_result;

#define GIT_ARGS_MAX 32

/* Behind "git" and, unless `elsewhere`, "-C PATH". */
struct git_invocation {
	const char *args[GIT_ARGS_MAX]; /* NULL-terminated */
	const char *const *paths;       /* after "--"; NULL = none, and no "--" */
	const char *env[8];             /* over the other; NULL-terminated */
	const struct git_login *login;  /* for `server`; or NULL */
	const char *server;             /* as git_server_of */
	struct span input;
	bool elsewhere;
};
/* ERROR_UNSUPPORTED without git in the sandbox. What git refuses fails, and names at->failure. */
MUST_CHECK int git_run(struct git_at *at, struct arena *a, const struct git_invocation *what,
                       struct compute_result *ret, struct error *err);
/* The same, but for git's exit code, which is the answer. */
MUST_CHECK int git_run_any_exit(struct git_at *at, struct arena *a,
                                const struct git_invocation *what, struct compute_result *ret,
                                struct error *err);
/* Absolute or not: not empty, and no NUL can be in it. */
MUST_CHECK int git_check_paths(const char *const *paths, struct error *err);
/* The first line of a result. */
const char *git_first_line(struct arena *a, const struct compute_result *result);
