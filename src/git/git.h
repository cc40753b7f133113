/* SPDX-License-Identifier: Apache-2.0 */
/* git/git.h — runs the sandbox's git as the sandbox's user, for all surfaces.
 *
 * A repository and its configuration are not trusted. The server reads only the output of git,
 * which is limited and strictly parsed (parse.h). Git is started with an argument list and never by
 * a shell. Names from callers are checked, come after "--", and are never patterns. Git uses no
 * terminal, editor or pager.
 *
 * A password is never in an argument or a file. It is in the environment of one git process, which
 * sends it only to the server of the call and runs no hooks. URLs with a password are refused,
 * because git would store them.
 *
 * Calls run on workers, block at most until their deadline, and need a held sandbox. Texts of
 * results are in the arena. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct fleet_hold;

#define GIT_NAME_MAX 255
#define GIT_URL_MAX 2048
#define GIT_PATHS_MAX 1000
#define GIT_MESSAGE_MAX ((size_t)64 * 1024)
#define GIT_OUTPUT_MAX ((size_t)8 * 1024 * 1024)
#define GIT_COMMITS_MAX 1000

/* A git command that has ended, or could not be started (`result` NULL). */
struct compute_result;
struct git_ended {
	const char *const *args, *const *paths; /* without options of ours; paths may be NULL */
	const struct compute_result *result;
	const struct error *err;
};
struct git_at {
	const struct fleet_hold *hold;
	const char *path; /* absolute: the repository, or the place for a new one */
	const char *user;
	const char **env; /* of commands, "KEY=value", NULL-terminated */
	int64_t deadline;
	/* Called for each command that changes the repository or exchanges commits; or NULL. */
	void (*on_end)(void *context, const struct git_ended *ended);
	void *context;
	const char *failure; /* set when git has failed: "GIT_PUSH_REJECTED" …; static, or NULL */
};

/* Credentials for the server of the call. */
struct git_login {
	const char *username, *password; /* NULL = none; a password alone is a token */
};

struct git_clone {
	const char *url, *branch, *commit; /* the last two NULL: the remote's default */
	int64_t depth;                     /* 0 = all */
	bool insecure;                     /* certificates are not checked */
	struct git_login login;
};
MUST_CHECK int git_clone(struct git_at *at, struct arena *a, const struct git_clone *what,
                         struct error *err);
MUST_CHECK int git_init(struct git_at *at, struct arena *a, bool bare, const char *branch,
                        struct error *err);

/* Git's letters: ' ' for unchanged, M T A D R C, U on both sides for an unmerged file, '?' for an
 * untracked file. */
struct git_file {
	const char *path, *old_path; /* of a rename or copy; else "" */
	char staged, worktree;
};
struct git_status {
	const char *branch; /* "" when the head is detached */
	const char *commit; /* "" before the first */
	const char *upstream;
	bool has_upstream; /* the upstream exists: ahead and behind are set */
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
/* Empty before the first commit. */
MUST_CHECK int git_log(struct git_at *at, struct arena *a, int64_t max, struct git_log *ret,
                       struct error *err);

struct git_diff {
	const char *from, *to;    /* commits or branches; NULL: the index, and the worktree */
	bool staged;              /* compare the index with the head */
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

MUST_CHECK int git_add(struct git_at *at, struct arena *a, const char *const *paths,
                       struct error *err);
struct git_commit_request {
	const char *message, *author, *email; /* the last two NULL = as git is configured */
	bool allow_empty;
};
MUST_CHECK int git_commit(struct git_at *at, struct arena *a, const struct git_commit_request *what,
                          const char **ret_hash, struct error *err);
/* Creates a branch at the head; `checkout` also checks it out. */
MUST_CHECK int git_branch_create(struct git_at *at, struct arena *a, const char *name,
                                 bool checkout, struct error *err);
/* Deletes the branch, merged or not. */
MUST_CHECK int git_branch_delete(struct git_at *at, struct arena *a, const char *name,
                                 struct error *err);
MUST_CHECK int git_checkout(struct git_at *at, struct arena *a, const char *name,
                            struct error *err);
struct git_reset {
	const char *mode, *target; /* soft mixed hard merge keep; NULL = mixed, HEAD */
	const char *const *paths;  /* unstage only these; not with a mode other than mixed */
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

struct git_exchange {
	const char *remote, *branch; /* NULL: origin, and the current branch */
	bool set_upstream;           /* push */
	struct git_login login;
};
MUST_CHECK int git_push(struct git_at *at, struct arena *a, const struct git_exchange *what,
                        struct error *err);
/* Fetches and merges. */
MUST_CHECK int git_pull(struct git_at *at, struct arena *a, const struct git_exchange *what,
                        struct error *err);

struct git_setting {
	const char *scope; /* global local system; NULL = global. Only local needs `at->path` */
	const char *key, *value;
};
/* *ret is NULL when the key is not set. */
MUST_CHECK int git_config_get(struct git_at *at, struct arena *a, const struct git_setting *what,
                              const char **ret, struct error *err);
MUST_CHECK int git_config_set(struct git_at *at, struct arena *a, const struct git_setting *what,
                              struct error *err);
struct git_credential {
	const char *protocol, *host; /* https, github.com */
	struct git_login login;
};
/* Stores the credentials for all processes in the sandbox, in the memory of git credential-cache
 * there, until that process ends. */
MUST_CHECK int git_login_store(struct git_at *at, struct arena *a,
                               const struct git_credential *what, struct error *err);
