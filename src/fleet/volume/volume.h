/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/volume/volume.h — volumes: storage that outlives sandboxes. Any worker may call; calls
 * block.
 *
 * Operations on one volume run one after another, as with sandboxes. Either one sandbox has a
 * volume for writing, or any number have it for reading; any number write that of a workspace. A
 * stopped sandbox keeps its volumes. The
 * delete of a sandbox detaches its volumes and keeps them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "fleet/core/sandboxes.h"
#include "store/volumes.h"

struct fleet;
struct fleet_hold;

#define FLEET_VOLUME_MB 10240 /* reported size of a volume without a limit */
#define FLEET_MOUNT_PATH "/workspace"
#define FLEET_HOME_PATH "/home/user"
#define FLEET_WORKSPACE_ROOT "/mnt/workspaces"
#define FLEET_WORKSPACE_PREFIX "workspace-" /* and the name of the workspace: a volume's name */

/* A volume that a sandbox is to have. */
struct fleet_mount {
	const char *volume;  /* name or id */
	const char *path;    /* NULL: FLEET_MOUNT_PATH */
	const char *subpath; /* folder of the volume; NULL: all */
	bool is_read_only;
};

struct fleet_volume {
	const char *project_id, *name;
	int64_t size_mb;       /* 0 = no limit */
	const char *workspace; /* whose files it keeps, without a limit; NULL = none */
};
MUST_CHECK int fleet_volume_create(struct fleet *fleet, struct arena *a,
                                   const struct fleet_volume *request, struct volume_record *ret,
                                   struct error *err);
/* Deletes the volume and its files. ERROR_CONFLICT, naming a sandbox, while it is attached. */
MUST_CHECK int fleet_volume_remove(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *ref, struct error *err);
/* Raises the limit. ERROR_INVALID for a lower one, ERROR_UNSUPPORTED without a limit,
 * ERROR_CONFLICT while a running sandbox has the volume. */
MUST_CHECK int fleet_volume_grow(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                 int64_t size_mb, struct volume_record *ret, struct error *err);
/* Bytes in use; UINT64_MAX if there are too many files to count. */
MUST_CHECK int fleet_volume_usage(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                  uint64_t *ret, struct error *err);

/* Attaches at once if the sandbox runs or is paused, else at its next start. ERROR_CONFLICT if
 * another sandbox has the volume, or if the path inside contains a symbolic link. */
MUST_CHECK int fleet_volume_attach(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *sandbox, const struct fleet_mount *mount,
                                   struct error *err);
struct fleet_detach {
	const char *volume; /* name, id or path; NULL: the only one of the sandbox */
	bool is_forced;     /* even if in use: open files stay open */
};
/* ERROR_CONFLICT if a process inside uses the volume. */
MUST_CHECK int fleet_volume_detach(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *sandbox,
                                   const struct fleet_detach *request, struct error *err);

/* Opens the files of a volume that no running sandbox writes to: creates a small sandbox without
 * network that has it at FLEET_MOUNT_PATH, held until fleet_unhold, ended after some idle time.
 * With `for_writing` no running sandbox may have the volume at all. */
MUST_CHECK int fleet_volume_browse(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *ref, bool for_writing,
                                   struct fleet_hold *ret_hold, struct error *err);
