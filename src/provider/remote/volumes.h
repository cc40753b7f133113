/* SPDX-License-Identifier: Apache-2.0 */
/* provider/remote/volumes.h — volumes that a service keeps. Private to provider/.
 *
 * The service's name of a volume has the ids of this server and of the volume in it, as that of a
 * snapshot (snapshots.h): atoll-SERVER-ID. A service mounts volumes when it makes a sandbox, and
 * only then. */
#pragma once

#include "base/id.h"
#include "provider/volume.h"

struct remote;

#define REMOTE_VOLUME_NAME_SIZE (sizeof("atoll--") + 2 * ID_SIZE)

struct remote_volume_kind {
	bool has_subpaths; /* a folder of a volume can be mounted */
	/* Succeeds when there is one of this name. */
	int (*make)(struct remote *r, const char *name, int64_t deadline, struct error *err);
	/* Succeeds when there is none. */
	int (*remove)(struct remote *r, const char *name, int64_t deadline, struct error *err);
	/* Those of this server: remote_snapshot_note reads the names. */
	int (*list)(struct remote *r, struct arena *a, int64_t deadline, struct provider_list *ret,
	            struct error *err);
};

void remote_volume_name(const struct remote *r, const char *volume,
                        char ret[REMOTE_VOLUME_NAME_SIZE]);

/* POST /volumes and DELETE /volumes/ID, as E2B and Daytona both have them. `accepted`: statuses
 * that are no failure (struct remote_call), or NULL. `service` is for errors. A volume that is gone
 * already is no failure. */
MUST_CHECK int remote_volume_post(struct remote *r, const char *name, const int *accepted,
                                  int64_t deadline, struct error *err);
MUST_CHECK int remote_volume_delete(struct remote *r, const char *service, const char *id,
                                    int64_t deadline, struct error *err);

/* For provider_ops. */
extern const struct volume_ops remote_volumes;
