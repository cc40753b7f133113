/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/mountinfo.h — which folder of which filesystem is mounted, from the lines of
 * /proc/PID/mountinfo.
 *
 * A folder is identified by its whole path within its filesystem. Where that filesystem is mounted
 * says nothing about it, and code that can write to a folder chooses the names below it. Texts are
 * as the kernel writes them, blanks as "\040". */
#pragma once

#include <sys/types.h>

#include "base/bytes.h"

/* Bytes of the file of one process. The kernel allows 100,000 mounts by default, and a tenant can
 * make the path of a mounted folder long. */
#define MOUNTINFO_MAX (16 * 1024 * 1024)

/* Reads the mounts of a process. ERROR_CONFLICT when it has ended. */
MUST_CHECK int mountinfo_read(pid_t pid, struct buf *ret, struct error *err);

struct mount_row {
	int64_t id, parent;
	struct span device, root, point; /* borrowed */
	bool is_read_only;               /* the mount, whatever its filesystem is */
};

/* Cuts off the next line that is a mount. False at the end. */
bool mountinfo_next(struct span *rest, struct mount_row *ret);

/* A folder; the root of a filesystem is "". */
struct mount_folder {
	char device[32]; /* the filesystem's number; stat(2) reports another one for btrfs */
	struct buf root; /* its path in the filesystem */
};

void mount_folder_init(struct mount_folder *f);
void mount_folder_done(struct mount_folder *f);
/* The folder at `path` on the mount with this id. ERROR_SYSTEM when there is no such mount or path;
 * that says nothing about the folder. */
MUST_CHECK int mount_folder_find(struct span mountinfo, int64_t mount, const char *path,
                                 struct mount_folder *ret, struct error *err);
/* The same for an open folder that this process reaches. */
MUST_CHECK int mount_folder_of(int folder, struct mount_folder *ret, struct error *err);
/* Whether the mounted folder is this folder or lies below it. */
bool mount_folder_has(const struct mount_folder *f, const struct mount_row *row);
/* Whether the mounted folder is this folder. */
bool mount_folder_is(const struct mount_folder *f, const struct mount_row *row);
