/* SPDX-License-Identifier: Apache-2.0 */
/* agent/base_dir.h — resolves a client's path to a descriptor, or to a name in an open folder.
 *
 * Every step goes through openat2(2), never through text alone. Three rules: plain (the sandbox's
 * own root), inside a host folder (RESOLVE_IN_ROOT: absolute paths and links are relative to it),
 * and beneath a workspace (AGENT_PATH_BENEATH: absolute paths, ".." and links that lead out are
 * refused). No rule follows /proc's magic links. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "wire/agent_files.h"

#define BASE_DIR_PATH_MAX 4096

struct user;
struct base_dir_rules {
	int root;                 /* of the sandbox; "/" or the host folder */
	uint64_t resolve;         /* 0 or RESOLVE_IN_ROOT */
	const char *host;         /* the host folder's own path, which commands use; or NULL */
	const struct user *owner; /* of new files; NULL = the process's own user */
};

/* Turns a command's path in the host folder, "/data/host-files/ID/x", into "/x". Returns any other
 * path, and every path when `host` is NULL, unchanged. Borrowed. */
const char *base_dir_own_path(const char *host, const char *path);

struct base_dir {
	int folder; /* the workspace, or the root */
	bool owned; /* closed by base_dir_done */
	bool beneath;
	uint64_t resolve;
	const char *host; /* as in the rules */
	const struct user *owner;
	const char *root; /* base of relative paths, unless beneath */
};

MUST_CHECK int base_dir_open(struct base_dir *p, const struct base_dir_rules *rules,
                             const struct agent_path *m, struct error *err);
void base_dir_done(struct base_dir *p);

/* Gives a new file to the owner of the rules. `name` "": `folder` itself. */
MUST_CHECK int base_dir_give(const struct base_dir *p, int folder, const char *name,
                             struct error *err);

/* Opens the path. Adds O_CLOEXEC, O_NOCTTY and O_NONBLOCK, so that neither a FIFO nor a device
 * blocks. */
MUST_CHECK int base_dir_find(const struct base_dir *p, const char *path, int flags, int *ret_fd,
                             struct error *err);

/* The last name of a path, in its open folder. */
struct spot {
	int folder;
	const char *name; /* in the arena; never "", "." or ".." */
};
void spot_done(struct spot *s);
enum spot_flag {
	SPOT_MAKE_PARENTS = 1 << 0,
	SPOT_FOLLOW = 1 << 1, /* resolves a symbolic link in the last name */
};
MUST_CHECK int spot_open(const struct base_dir *p, struct arena *a, const char *path,
                         unsigned flags, struct spot *ret, struct error *err);

/* Turns the errno of an operation on a path into an error; names paths that leave the workspace.
 * Always -1. */
int base_dir_fail(const char *what, const char *path, struct error *err);
