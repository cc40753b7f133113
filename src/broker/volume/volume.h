/* SPDX-License-Identifier: Apache-2.0 */
/* broker/volume/volume.h — storage that outlives sandboxes: DATA/volumes/ID.
 *
 * A backing stores the files. What lies in the folder of a volume tells which backing it has. Files
 * are stored with ids that no user has (ID_STORED), as the files of sandboxes are, and the mount
 * maps them to the ids of a slot: root's files are root's in each sandbox that has the volume. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct host;
struct mounted_volume;
struct volume_opening;

struct volume_backing {
	const char *name;
	const char *content;   /* what lies in the folder of such a volume */
	bool size_is_advisory; /* the size is no hard limit */
	bool opens_slowly;     /* call `open` in a child */
	/* Fills an empty folder that nothing uses yet. Call it in a child: it may take long. */
	int (*make)(const struct host *host, int folder, uint64_t size_bytes, struct error *err);
	/* Puts the whole volume out of sight; its bytes may be freed later. */
	int (*remove)(const struct host *host, const char *id, struct error *err);
	/* The files, or the folder of them that is asked for, as a detached mount. */
	int (*open)(const struct volume_opening *o, int *ret_fd, struct error *err);
	/* Bytes in use; UINT64_MAX when there are too many files to count. Call it in a child. */
	int (*usage)(const struct host *host, const char *id, uint64_t *ret, struct error *err);
	/* Makes room while no sandbox has the volume. Call it in a child. NULL: it has no size. */
	int (*grow)(const struct host *host, int folder, uint64_t size_bytes, struct error *err);
};

/* The backing of a new volume of this size; 0: no limit. */
const struct volume_backing *volume_backing_for(uint64_t size_bytes);
/* The backing of this volume; ERROR_NOT_FOUND when it does not exist. */
MUST_CHECK int volume_backing_find(const struct host *host, const char *id,
                                   const struct volume_backing **ret, struct error *err);

/* Makes a whole volume under its name. Call it in a child. */
MUST_CHECK int volume_make(const struct host *host, const char *id,
                           const struct volume_backing *backing, uint64_t size_bytes,
                           struct error *err);
/* Does nothing when the volume is missing. */
MUST_CHECK int volume_remove(const struct host *host, const char *id, struct error *err);
MUST_CHECK int volume_usage(const struct host *host, const char *id, uint64_t *ret,
                            struct error *err);
/* Never shrinks; does nothing when the volume has this size. */
MUST_CHECK int volume_grow(const struct host *host, const char *id, uint64_t size_bytes,
                           struct error *err);
/* False when the volume does not exist; volume_open reports that. */
bool volume_opens_slowly(const struct host *host, const char *id);
/* The files for a sandbox with this map of stored files. Set-uid programs and devices on it do not
 * work. A missing folder of the volume is made; ERROR_CONFLICT when a link or a file is there. */
MUST_CHECK int volume_open(const struct host *host, const struct mounted_volume *mount, int map_fd,
                           int *ret_fd, struct error *err);
/* Calls back with each whole volume. */
MUST_CHECK int volume_each(const struct host *host,
                           void (*on_volume)(void *context, const char *id), void *context,
                           struct error *err);
/* At start: removes volumes that an earlier broker has only half made. */
void volume_sweep(const struct host *host);
