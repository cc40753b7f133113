/* SPDX-License-Identifier: Apache-2.0 */
/* broker/image.h — an ext4 filesystem in a sparse file, mounted through a loop device that goes
 * away with the last mount. It is what a hard limit of bytes is made of: the kernels of many hosts
 * have no project quota, which would be the cheaper way. Private to this folder; in a child: making
 * and mounting take milliseconds.
 *
 * Only this host's kernel ever writes to such a file: who is inside a sandbox writes files, never
 * the image below them. Two filesystems on one image would destroy it, so the image is locked
 * through the very description that its loop device keeps, which outlives any process of ours. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* What ext4 keeps in one file, with room to spare. */
#define IMAGE_BYTES_MAX (UINT64_C(8) << 40)

struct image_options {
	uint64_t size_bytes;
	bool keeps_journal; /* it is to outlive a crash of the host */
	uid_t owner;        /* of its top folder */
};

/* Whether this host can. */
bool image_is_possible(void);
/* A new one; it must not be there. What is left of a failure is the caller's to remove. */
MUST_CHECK int image_make(int folder, const char *name, const struct image_options *options,
                          struct error *err);
/* Its filesystem, as a detached mount without devices. `shared`: as another mount of the one that
 * is mounted already, if it is; else waits for the end of that. */
MUST_CHECK int image_mount(int folder, const char *name, bool shared, int *ret_fd,
                           struct error *err);
/* More room, once nothing of it is mounted any more. Never less; fine when it has so much. Until
 * the deadline it is checked; to grow takes seconds more. What fails leaves one that mounts as
 * before.
 */
MUST_CHECK int image_grow(int folder, const char *name, uint64_t size_bytes, int64_t deadline,
                          struct error *err);
/* The same where it is seldom due: costs a look at the file when it has so much, whole MiB. */
MUST_CHECK int image_fit(int folder, const char *name, uint64_t size_bytes, int64_t deadline,
                         struct error *err);
