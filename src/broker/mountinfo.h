/* SPDX-License-Identifier: Apache-2.0 */
/* broker/mountinfo.h — which folder of which filesystem is mounted, by the lines of
 * /proc/PID/mountinfo. Private to this folder.
 *
 * A folder is told by its path within its filesystem, whole: where that is mounted, and by what
 * name the mount is reached, says nothing about it, and who writes in a folder chooses the names
 * below it. Texts are as the kernel writes them, blanks as "\040". */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

/* Bytes of one process's: the kernel allows 100,000 mounts unless told otherwise, and whoever has a
 * folder that is mounted elsewhere, too, chooses how long its path is. */
#define MOUNTINFO_MAX (16 * 1024 * 1024)

struct mount_row {
	int64_t id, parent;
	struct span device, root, point; /* borrowed */
	bool is_read_only;               /* the mount, whatever its filesystem is */
};

/* Cuts off one line that is one of it. False at the end. */
bool mountinfo_next(struct span *rest, struct mount_row *ret);

/* A folder; the root of a filesystem is "". */
struct mount_place {
	char device[32]; /* the filesystem's; btrfs says another one to stat */
	struct buf root; /* its path there */
};

void mount_place_init(struct mount_place *p);
void mount_place_done(struct mount_place *p);
/* Which folder `path` is, on the mount of this id. ERROR_SYSTEM when that is not among them, or has
 * no such path: that says nothing about the folder. */
MUST_CHECK int mount_place_find(struct span mountinfo, int64_t mount, const char *path,
                                struct mount_place *ret, struct error *err);
/* The same of an open folder that this process reaches. */
MUST_CHECK int mount_place_of(int folder, struct mount_place *ret, struct error *err);
/* Whether what is mounted is the folder, or lies below it. */
bool mount_place_has(const struct mount_place *p, const struct mount_row *row);
/* Whether it is the folder. */
bool mount_place_is(const struct mount_place *p, const struct mount_row *row);
