/* SPDX-License-Identifier: Apache-2.0 */
/* broker/volume/image.h — an ext4 filesystem in a sparse file: a hard limit of bytes.
 *
 * The file is mounted through a loop device that goes away with the last mount. Project quotas
 * would be cheaper, but the kernels of many hosts have none. Making and mounting take milliseconds:
 * call these functions in a child.
 *
 * Only this host's kernel writes to such a file: a sandbox writes files, never the image below
 * them. Two filesystems on one image would destroy it, so the image is locked through the open file
 * description that its loop device holds, which outlives every process of the broker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Less than the largest file of ext4. */
#define IMAGE_BYTES_MAX (UINT64_C(8) << 40)

struct host;

struct image_place {
	const struct host *host;
	int folder;
	const char *name;
};
struct image_options {
	uint64_t size_bytes;
	bool keeps_journal; /* the image must survive a crash of the host */
	uid_t owner;        /* of its top folder */
};

/* Whether this host has mkfs.ext4 and loop devices. */
bool image_is_possible(void);
/* Makes a new image; the name must be free. The caller removes what a failure leaves. */
MUST_CHECK int image_make(const struct image_place *place, const struct image_options *options,
                          struct error *err);
/* The filesystem as a detached mount without devices. `shared`: another mount of the one that is
 * mounted already. Without it the call waits until the last mount has ended. */
MUST_CHECK int image_mount(const struct image_place *place, bool shared, int *ret_fd,
                           struct error *err);
/* Grows the image once nothing of it is mounted. Never shrinks; does nothing when it has this size.
 * The check of the filesystem ends at the deadline; growing takes seconds more. A failure leaves an
 * image that mounts as before. */
MUST_CHECK int image_grow(const struct image_place *place, uint64_t size_bytes, int64_t deadline,
                          struct error *err);
/* The same, but an image of this size in whole MiB costs only one look at the file. */
MUST_CHECK int image_fit(const struct image_place *place, uint64_t size_bytes, int64_t deadline,
                         struct error *err);
