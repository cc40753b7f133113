/* SPDX-License-Identifier: Apache-2.0 */
/* broker/volume/mount.h — a volume that a sandbox asks for, as text and as fields. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/id.h"
#include "sandbox/sandbox.h"

/* "VOLUME:rw:/PATH", or "VOLUME:rw:/PATH//FOLDER" for a folder of the volume. */
struct mounted_volume {
	char id[ID_SIZE + 1];
	bool is_read_only;
	char path[SANDBOX_MOUNT_PATH_MAX + 1];
	char subpath[SANDBOX_MOUNT_PATH_MAX + 1];
	int fd; /* its files as a detached mount, once they are open; else -1 */
};

MUST_CHECK int volume_mount_parse(const char *text, struct mounted_volume *ret, struct error *err);
/* Parses texts that were checked. NULL when there are none; else the caller frees the array. */
struct mounted_volume *volume_mounts_new(const char *const *texts, unsigned *ret_count);
