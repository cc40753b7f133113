/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/disk.h — the disk of a sandbox: images that are mounted for it, and its limit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "broker/host/child.h"
#include "broker/host/host.h"

struct sandbox;

/* The child that mounts them. */
struct sandbox_images {
	struct sandbox *sandbox;
	struct broker_child child;
	int report_fd;
};

struct disk_amount {
	uint64_t bytes, inodes;
};

/* Whether something must be mounted for the sandbox that takes a child. */
bool sandbox_wants_images(const struct sandbox *sandbox);
/* Mounts the sandbox's disk and all its volumes, then calls on_images. Uses the deadline. */
MUST_CHECK int sandbox_images_start(struct sandbox *sandbox, struct error *err);
/* Kills that child if it still runs, and closes all mounts: the plan has them, or the sandbox ends.
 */
void sandbox_close_disks(struct sandbox *sandbox);
/* Bytes in use; UINT64_MAX when that is not known. */
uint64_t sandbox_disk_used(const struct sandbox *sandbox);
/* limit.c, pure: the limit of a disk of this size; `inodes_per_gib` 0: no limit of inodes. */
struct disk_amount disk_limit(uint64_t bytes, uint64_t inodes_per_gib);
/* limit.c: limits the folder that the sandbox is about to write to. 1: limited; 0: nothing limits
 * it. */
MUST_CHECK int sandbox_limit_folder(const struct sandbox *sandbox, enum host_folder which,
                                    const char *name, struct error *err);
