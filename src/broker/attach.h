/* SPDX-License-Identifier: Apache-2.0 */
/* broker/attach.h — a volume into a sandbox that runs, and out of it. Private to this folder.
 *
 * In a child, which opens the volume as the host's root, then becomes root of the sandbox's own
 * user namespace in its mount namespace, and goes to the place there as anybody inside could:
 * without following a link, a step at a time. What code inside does to the path meanwhile can send
 * the volume to another folder of its own, which is looked at afterwards, and nowhere else. */
#pragma once

#include "broker/volume.h"

struct attachment {
	struct mounted_volume mount;
	bool forced;   /* out, although something inside uses it: that keeps what it has open */
	uint32_t slot; /* of the sandbox … */
	int pid;       /* … and its process 1 … */
	int mounts_fd; /* … and its mount namespace */
};

/* Fine when it is there. ERROR_CONFLICT when the path leads through a link, or is no folder. */
MUST_CHECK int attach_volume(const struct host *host, const struct attachment *a,
                             struct error *err);
/* Fine when it is not there. ERROR_CONFLICT when something uses it. */
MUST_CHECK int detach_volume(const struct host *host, const struct attachment *a,
                             struct error *err);
