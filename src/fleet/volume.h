/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/volume.h — storage that outlives sandboxes. Any worker may call; calls block.
 *
 * What one thread does with a volume, others wait for, as with a sandbox. One sandbox may have a
 * volume to write, or any number to read; a stopped one has it still. A sandbox that is deleted
 * lets go of its volumes and never takes them along. */
#pragma once

#include "fleet/fleet.h"
#include "store/volumes.h"

#define FLEET_VOLUME_MB 10240 /* said to be one's size when none is asked for */

struct fleet_volume {
	const char *project_id, *name;
	int64_t size_mb; /* 0 = no limit */
};
MUST_CHECK int fleet_volume_create(struct fleet *fleet, struct arena *a,
                                   const struct fleet_volume *request, struct volume_record *ret,
                                   struct error *err);
/* Its files, too. ERROR_CONFLICT, naming a sandbox, while it is attached. */
MUST_CHECK int fleet_volume_remove(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *ref, struct error *err);
/* More room. ERROR_INVALID for less, ERROR_UNSUPPORTED when it has no limit, ERROR_CONFLICT while
 * a sandbox that runs has it. */
MUST_CHECK int fleet_volume_grow(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                 int64_t size_mb, struct volume_record *ret, struct error *err);
/* Bytes in use, UINT64_MAX when there are too many files to count. */
MUST_CHECK int fleet_volume_usage(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                  uint64_t *ret, struct error *err);

/* At once when the sandbox runs, paused or not, else for its next start. ERROR_CONFLICT when
 * somebody else has the volume, or the path inside leads through a link. */
MUST_CHECK int fleet_volume_attach(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *sandbox, const struct fleet_mount *mount,
                                   struct error *err);
struct fleet_detach {
	const char *volume; /* its name or id, or its path; NULL = the only one that it has */
	bool is_forced;     /* although something inside uses it: what is open stays open */
};
/* ERROR_CONFLICT when something inside uses it. */
MUST_CHECK int fleet_volume_detach(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *sandbox,
                                   const struct fleet_detach *request, struct error *err);

/* The files of a volume that no running sandbox writes to: a small sandbox without network is made
 * that has it at FLEET_MOUNT_PATH, and goes when nobody has used it for a while. It is held until
 * fleet_unhold. `for_writing` wants that no running sandbox reads it either. */
MUST_CHECK int fleet_volume_browse(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *ref, bool for_writing,
                                   struct fleet_hold *ret_hold, struct error *err);
