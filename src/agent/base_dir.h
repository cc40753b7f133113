/* SPDX-License-Identifier: Apache-2.0 */
/* agent/base_dir.h — how a path from outside becomes a descriptor or a name in an open folder.
 *
 * Every step goes through openat2(2), never through text alone. Three rules: plain (the sandbox's
 * own root), inside a host folder (RESOLVE_IN_ROOT: absolute paths and links are of that folder),
 * and beneath a workspace (AGENT_PATH_BENEATH: absolute paths, ".." and links that lead out are
 * refused). None follows /proc's magic links. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "wire/agent_files.h"

#define BASE_DIR_PATH_MAX 4096

struct user;
struct base_dir_rules {
	int root;         /* of the sandbox; "/" or the host folder */
	uint64_t resolve; /* 0 or RESOLVE_IN_ROOT */
	const char *host; /* the host folder's own path, that commands know it by; or NULL */
	const struct user *owner; /* of what is made; NULL = whoever makes it */
};

/* A path in the host folder as commands say it, "/data/host-files/ID/x", is "/x" of that folder.
 * Any other path, and any when `host` is NULL, is what it says. Borrowed. */
const char *base_dir_own_path(const char *host, const char *path);

struct base_dir {
	int folder; /* the workspace, or the root */
	bool owned; /* closed by base_dir_done */
	bool beneath;
	uint64_t resolve;
	const char *host; /* as of the rules */
	const struct user *owner;
	const char *root; /* what relative paths are relative to, unless beneath */
};

MUST_CHECK int base_dir_open(struct base_dir *p, const struct base_dir_rules *rules,
                             const struct agent_path *m, struct error *err);
void base_dir_done(struct base_dir *p);

/* Gives what was made to the place's owner. `name` may be "": then it is `folder` itself. */
MUST_CHECK int base_dir_give(const struct base_dir *p, int folder, const char *name,
                             struct error *err);

/* Opens it; O_CLOEXEC, O_NOCTTY and O_NONBLOCK are added, so that neither a FIFO nor a device
 * makes anybody wait. */
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
	SPOT_FOLLOW = 1 << 1, /* when the name is a symbolic link, where that leads */
};
MUST_CHECK int spot_open(const struct base_dir *p, struct arena *a, const char *path,
                         unsigned flags, struct spot *ret, struct error *err);

/* errno of an operation on a path as an error; tells when a path would leave the workspace. Always
 * -1. */
int base_dir_fail(const char *what, const char *path, struct error *err);
