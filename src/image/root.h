/* SPDX-License-Identifier: Apache-2.0 */
/* image/root.h — the files that every root filesystem of a sandbox must have. The root may be
 * untrusted: no symbolic link in it is followed, and anything in the place of a folder or a plain
 * file is replaced. */
#pragma once

#include <sys/types.h>

#include "base/bytes.h"

#define ROOT_USER_ID 1000

/* Makes mount points, the files that a sandbox's set-up writes, and a user with the id 1000. */
MUST_CHECK int root_finish(const char *root, struct error *err);
/* Gives that user, named `of`, another name and a link to its home; nothing if the name is taken.
 */
MUST_CHECK int root_add_alias(int root, const char *alias, const char *of, struct error *err);

/* Opens a folder (O_PATH); missing ones are made, owned by root. */
MUST_CHECK int root_open_folder(int root, const char *path, int *ret_fd, struct error *err);
struct root_file {
	const char *path; /* relative to the root */
	mode_t mode;
	uid_t owner; /* and group */
	struct span text;
};
MUST_CHECK int root_write(int root, const struct root_file *file, struct error *err);
/* A plain file of at most 4 MiB; ERROR_NOT_FOUND when it is missing. */
MUST_CHECK int root_read(int root, const char *path, struct buf *out, struct error *err);
