/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/project_quota.h — limits of bytes and files that a filesystem itself enforces for all
 * that lies in a folder: ext4 and xfs, mounted with prjquota.
 *
 * A folder has a project, a number, which whatever is made in it inherits; the filesystem counts
 * and limits each project. A process in a user namespace can change neither the number nor whether
 * it is inherited (the kernel's fileattr_set_prepare), so a sandbox cannot leave its own; and files
 * cannot be moved or linked into a folder of another project (EXDEV). statfs(2) of such a folder
 * tells of the limit instead of the disk.
 *
 * Numbers are chosen at random from 2^30, and never while anything is counted for one: so nothing
 * is kept of who has which but in the folders themselves, and a folder that is deleted gives its
 * number back. The kernel's interface: quotactl_fd(2), Linux 5.14. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct project_amount {
	uint64_t bytes, inodes;
};

/* Whether the filesystem of this folder enforces such limits: makes a folder in it, limits it,
 * writes past the limit as nobody, and removes it. ERROR_UNSUPPORTED names what is missing, its
 * hint the cure.
 */
MUST_CHECK int project_quota_probe(int folder, struct error *err);
/* A new project for an empty folder. */
MUST_CHECK int project_quota_begin(int folder, struct error *err);
/* Its limits; zeros: none. ERROR_NOT_FOUND when the folder has no project. */
MUST_CHECK int project_quota_limit(int folder, const struct project_amount *most,
                                   struct error *err);
