/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/cleanup_item.h — what is left of a sandbox whose processes are dead or dying.
 *
 * The last process to close such a descriptor waits until the kernel has cleared up behind it. The
 * broker must not wait, so it hands the descriptors to the cleaner (server/cleaner.h). */
#pragma once

#include <stdint.h>

struct cleanup_item {
	uint32_t slot; /* SLOT_NONE: no slot, or one that is still in use */
	int mounts_fd; /* a mount namespace or a mount; -1: none */
	int net_fd;    /* its network namespace; -1: none */
};
/* Only wakes the cleaner. */
#define CLEANUP_NOTHING ((struct cleanup_item){UINT32_MAX, -1, -1})
