/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/disk.h — the disk of a sandbox: images that are mounted for it, and its limit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attribute.h"
#include "broker/host/host.h"

struct sandbox;

struct disk_amount {
	uint64_t bytes, inodes;
};

/* Whether something must be mounted for the sandbox that takes a child. */
bool sandbox_wants_images(const struct sandbox *sandbox);
/* Mounts the sandbox's disk and all its volumes, then calls on_images. Uses the deadline. */
MUST_CHECK int sandbox_images_start(struct sandbox *sandbox, struct error *err);
/* Bytes in use; UINT64_MAX when that is not known. */
uint64_t sandbox_disk_used(const struct sandbox *sandbox);
/* Pure: the limit of a disk of this size; `inodes_per_gib` 0: no limit of inodes. */
struct disk_amount disk_limit(uint64_t bytes, uint64_t inodes_per_gib);
/* Limits the folder that the sandbox is about to write to. 1: limited; 0: nothing limits it. */
MUST_CHECK int sandbox_limit_folder(const struct sandbox *sandbox, enum host_folder which,
                                    const char *name, struct error *err);
