/* SPDX-License-Identifier: Apache-2.0 */
/* git/git.h — git in a sandbox: the sandbox's own program, run as the sandbox's user, for every
 * surface.
 *
 * A repository is the sandbox's, and so is all that it configures: nothing of it is read here but
 * what git prints, and that is bounded and taken strictly apart (parse.h). Git is started with a
 * list of arguments and never by a shell; what callers name is checked, stands behind "--", and is
 * never a pattern. It is never asked to talk to a terminal, an editor or a pager.
 *
 * A password is in no argument and in no file. It is in the environment of one git, which gives it
 * to the one server that the call is about, and runs no hooks meanwhile. Addresses that hold one
 * are refused, since git would write them down.
 *
 * Calls are made on workers, block until their deadline at most, and need a held sandbox. Texts of
 * results live in the arena. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "fleet/fleet.h"

#define GIT_NAME_MAX 255
#define GIT_URL_MAX 2048
#define GIT_PATHS_MAX 1000
#define GIT_MESSAGE_MAX ((size_t)64 * 1024)
#define GIT_OUTPUT_MAX ((size_t)8 * 1024 * 1024)
#define GIT_COMMITS_MAX 1000

struct git_at {
	const struct fleet_hold *hold;
	const char *path; /* absolute: the repository, or where it is to be */
	const char *user;
	const char **env; /* of commands, "KEY=value", NULL-terminated */
	int64_t deadline;
	const char *failure; /* set when git has refused: "GIT_PUSH_REJECTED" …; static, or NULL */
};

/* For the server that the call is about. */
struct git_login {
	const char *username, *password; /* NULL = none; a password alone is a token */
};

/* ---- made ---- */

struct git_clone {
	const char *url, *branch, *commit; /* the last two NULL = as the remote says */
	int64_t depth;                     /* 0 = all */
	bool insecure;                     /* certificates are not checked */
	struct git_login login;
};
MUST_CHECK int git_clone(struct git_at *at, struct arena *a, const struct git_clone *what,
                         struct error *err);
MUST_CHECK int git_init(struct git_at *at, struct arena *a, bool bare, const char *branch,
                        struct error *err);

/* ---- read ---- */

/* As git has them: ' ' for unchanged, M T A D R C, U on both sides for what is not merged, '?' for
 * untracked. */
struct git_file {
	const char *path, *old_path; /* of a rename or copy; else "" */
	char staged, worktree;
};
struct git_status {
	const char *branch; /* "" when the head is detached */
	const char *commit; /* "" before the first */
	const char *upstream;
	bool has_upstream; /* that is there: ahead and behind are known */
	int64_t ahead, behind;
	struct git_file *files;
	size_t count;
};
MUST_CHECK int git_status(struct git_at *at, struct arena *a, struct git_status *ret,
                          struct error *err);

struct git_branches {
	const char **names; /* NULL-terminated */
	const char *current;
};
MUST_CHECK int git_branches(struct git_at *at, struct arena *a, struct git_branches *ret,
                            struct error *err);

struct git_commit {
	const char *hash, *author, *email, *message;
	int64_t at; /* unix ms */
};
struct git_log {
	struct git_commit *items; /* newest first */
	size_t count;
};
/* Fine, and empty, before the first commit. */
MUST_CHECK int git_log(struct git_at *at, struct arena *a, int64_t max, struct git_log *ret,
                       struct error *err);

struct git_diff {
	const char *from, *to;    /* commits or branches; NULL = the index, and the worktree */
	bool staged;              /* of the index against the head */
	const char *const *paths; /* NULL-terminated; NULL = all */
};
MUST_CHECK int git_diff(struct git_at *at, struct arena *a, const struct git_diff *what,
                        struct span *ret, bool *ret_truncated, struct error *err);

struct git_remote {
	const char *name, *url;
};
struct git_remotes {
	struct git_remote *items;
	size_t count;
};
MUST_CHECK int git_remotes(struct git_at *at, struct arena *a, struct git_remotes *ret,
                           struct error *err);

/* ---- changed ---- */

MUST_CHECK int git_add(struct git_at *at, struct arena *a, const char *const *paths,
                       struct error *err);
struct git_commit_request {
	const char *message, *author, *email; /* the last two NULL = as git is configured */
	bool allow_empty;
};
MUST_CHECK int git_commit(struct git_at *at, struct arena *a, const struct git_commit_request *what,
                          const char **ret_hash, struct error *err);
/* Of where the head is; `checkout` goes over to it. */
MUST_CHECK int git_branch_create(struct git_at *at, struct arena *a, const char *name,
                                 bool checkout, struct error *err);
/* Merged or not. */
MUST_CHECK int git_branch_delete(struct git_at *at, struct arena *a, const char *name,
                                 struct error *err);
MUST_CHECK int git_checkout(struct git_at *at, struct arena *a, const char *name,
                            struct error *err);
struct git_reset {
	const char *mode, *target; /* soft mixed hard merge keep; NULL = mixed, HEAD */
	const char *const *paths;  /* only these leave the index; without mode */
};
MUST_CHECK int git_reset(struct git_at *at, struct arena *a, const struct git_reset *what,
                         struct error *err);
struct git_restore {
	const char *const *paths;
	const char *source; /* NULL = the index, or HEAD */
	bool staged, worktree;
};
MUST_CHECK int git_restore(struct git_at *at, struct arena *a, const struct git_restore *what,
                           struct error *err);
struct git_remote_add {
	const char *name, *url;
	bool overwrite, fetch;
};
MUST_CHECK int git_remote_add(struct git_at *at, struct arena *a, const struct git_remote_add *what,
                              struct error *err);

/* ---- with a remote ---- */

struct git_exchange {
	const char *remote, *branch; /* NULL = origin, and the branch at hand */
	bool set_upstream;           /* push */
	struct git_login login;
};
MUST_CHECK int git_push(struct git_at *at, struct arena *a, const struct git_exchange *what,
                        struct error *err);
/* Merges. */
MUST_CHECK int git_pull(struct git_at *at, struct arena *a, const struct git_exchange *what,
                        struct error *err);

/* ---- configuration ---- */

struct git_setting {
	const char *scope; /* global local system; NULL = global. `at->path` is for local alone */
	const char *key, *value;
};
/* *ret NULL when it is not set. */
MUST_CHECK int git_config_get(struct git_at *at, struct arena *a, const struct git_setting *what,
                              const char **ret, struct error *err);
MUST_CHECK int git_config_set(struct git_at *at, struct arena *a, const struct git_setting *what,
                              struct error *err);
struct git_credential {
	const char *protocol, *host; /* https, github.com */
	struct git_login login;
};
/* Kept for all that runs in the sandbox, in the memory of a process there (git credential-cache),
 * until that ends. */
MUST_CHECK int git_login_store(struct git_at *at, struct arena *a,
                               const struct git_credential *what, struct error *err);
