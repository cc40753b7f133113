/* SPDX-License-Identifier: Apache-2.0 */
/* agent/user.h — the user of a command or file worker, from the sandbox's own /etc.
 *
 * The files belong to the sandbox and are not trusted: reads are bounded and never block, and names
 * are cut to their buffers. (getpwnam would load modules, which a static program cannot.) */
#pragma once

#include <sys/types.h>

#include "base/bytes.h"

#define USER_GROUPS_MAX 64
struct user {
	uid_t uid;
	gid_t gid;
	gid_t groups[USER_GROUPS_MAX];
	unsigned group_count;
	char name[64], home[256], shell[256];
};

/* By name or number; "" is root; "a|b" is the first that exists; "USER:GROUP" has that group alone.
 * A number that is
 * not in /etc/passwd is a user without a name, with the group of the same number and home "/".
 *
 * An agent that is not root has one user, its own: "", "user", the user's name and its number mean
 * it, and any other name is ERROR_UNSUPPORTED. Its home is /home/user where that can be written. */
MUST_CHECK int user_find(const char *name, struct user *ret, struct error *err);
/* The same over the texts of passwd and group. */
MUST_CHECK int user_parse(struct span passwd, struct span group, const char *name, struct user *ret,
                          struct error *err);
/* Names of ids, for lists: the texts of both tables, read once. */
struct user_names {
	struct buf passwd, group;
};
void user_names_read(struct user_names *n);
void user_names_done(struct user_names *n);
/* Writes the number when the id has no name. */
void user_name_of(const struct user_names *n, uid_t uid, char out[64]);
void user_group_of(const struct user_names *n, gid_t gid, char out[64]);
/* user_become changes the calling process for good; user_borrow keeps root as the saved id, so that
 * the process can return. */
MUST_CHECK int user_borrow(const struct user *user, struct error *err);
MUST_CHECK int user_become(const struct user *user, struct error *err);
