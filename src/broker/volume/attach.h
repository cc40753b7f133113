/* SPDX-License-Identifier: Apache-2.0 */
/* broker/volume/attach.h — attaches a volume to a running sandbox, and detaches it.
 *
 * This runs in a child. The child finds and opens the volume; atoll-launch walks to the path inside
 * (launch/attach.c). */
#pragma once

#include "base/error.h"
#include "base/id.h"
#include "broker/volume/mount.h"

struct host;

struct attachment {
	struct mounted_volume mount;
	bool forced;   /* detach even if the volume is in use; open files stay open */
	bool is_fixed; /* in gVisor: mounts do not change while the sandbox runs */
	uint32_t slot; /* of the sandbox */
	int pid;       /* its process 1 */
	int mounts_fd; /* its mount namespace */
};

/* Succeeds when the volume is there already. ERROR_CONFLICT when the path leads through a link, or
 * is no folder. */
MUST_CHECK int attach_volume(const struct host *host, const struct attachment *a,
                             struct error *err);
/* Succeeds when the volume is not there. ERROR_CONFLICT when something uses it. */
MUST_CHECK int detach_volume(const struct host *host, const struct attachment *a,
                             struct error *err);
