/* SPDX-License-Identifier: Apache-2.0 */
/* broker/volume.h — storage that outlives sandboxes: DATA/volumes/ID. Private to this folder.
 *
 * What stores it is a backing; which one a volume has is told by what lies in its folder. Files are
 * stored with ids that are nobody's (ID_STORED), as those of sandboxes are, and get the ids of a
 * slot by the mount: so root's files are root's in each sandbox that has the volume. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "broker/host.h"
#include "sandbox/sandbox.h"

/* What a sandbox asks for: "VOLUME:rw:/PATH", or "VOLUME:rw:/PATH//FOLDER" of a folder of it. */
struct mounted_volume {
	char id[ID_SIZE + 1];
	bool is_read_only;
	char path[SANDBOX_MOUNT_PATH_MAX + 1], subpath[SANDBOX_MOUNT_PATH_MAX + 1];
};
MUST_CHECK int volume_mount_parse(const char *text, struct mounted_volume *ret, struct error *err);
/* Of texts that were checked; freed by free. NULL when there are none. */
struct mounted_volume *volume_mounts_new(const char *const *texts, unsigned *ret_count);

struct volume_backing {
	const char *name, *content;          /* what lies in the folder of such a volume */
	bool size_is_advisory, opens_slowly; /* slowly: in a child */
	/* Into an empty folder, which nobody has yet. May take long: in a child. */
	int (*make)(int folder, uint64_t size_bytes, struct error *err);
	/* Puts the whole volume out of sight; its bytes may go later. */
	int (*remove)(const struct host *host, const char *id, struct error *err);
	/* Its files, or a folder of them unless `subpath` is "", as a detached mount. */
	int (*open)(int folder, const char *subpath, const struct layer_options *options,
	            int *ret_fd, struct error *err);
	/* Bytes in use, UINT64_MAX when that is too much to count. May take long: in a child. */
	int (*usage)(int folder, uint64_t *ret, struct error *err);
	/* More room, while no sandbox has it. May take long: in a child. NULL: has no size. */
	int (*grow)(int folder, uint64_t size_bytes, struct error *err);
};

/* What a new volume of this size gets here; 0 = of any. */
const struct volume_backing *volume_backing_for(uint64_t size_bytes);
/* What this one has; ERROR_NOT_FOUND when it does not exist. */
MUST_CHECK int volume_backing_find(const struct host *host, const char *id,
                                   const struct volume_backing **ret, struct error *err);

/* In a child: from nothing to a whole volume under its name. */
MUST_CHECK int volume_make(const struct host *host, const char *id,
                           const struct volume_backing *backing, uint64_t size_bytes,
                           struct error *err);
/* Fine when missing. */
MUST_CHECK int volume_remove(const struct host *host, const char *id, struct error *err);
MUST_CHECK int volume_usage(const struct host *host, const char *id, uint64_t *ret,
                            struct error *err);
/* Never less; fine when it has so much. */
MUST_CHECK int volume_grow(const struct host *host, const char *id, uint64_t size_bytes,
                           struct error *err);
/* False when it does not exist, which volume_open says. */
bool volume_opens_slowly(const struct host *host, const char *id);
/* Its files for a sandbox with this map of stored files: no set-uid program and no device of them
 * works. A folder of it is made when it is missing; ERROR_CONFLICT when a link or a file is there.
 */
MUST_CHECK int volume_open(const struct host *host, const struct mounted_volume *mount, int map_fd,
                           int *ret_fd, struct error *err);
/* Calls back with each whole one. */
MUST_CHECK int volume_each(const struct host *host,
                           void (*on_volume)(void *context, const char *id), void *context,
                           struct error *err);
/* At start: what a broker that went away had only half made. */
void volume_sweep(const struct host *host);
