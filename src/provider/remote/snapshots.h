/* SPDX-License-Identifier: Apache-2.0 */
/* provider/remote/snapshots.h — snapshots that a service keeps. Private to provider/.
 *
 * The service's name of a snapshot has the ids of this server and of the snapshot in it, so that no
 * file here maps ids: atoll-SERVER-ID. */
#pragma once

#include "base/id.h"
#include "provider/snapshots.h"

struct remote;
struct remote_sandbox;

#define REMOTE_SNAPSHOT_NAME_SIZE (sizeof("atoll--") + 2 * ID_SIZE)

struct remote_snapshot_kind {
	/* Of a sandbox that runs, or of a stopped one with takes_stopped. */
	int (*take)(struct remote *r, const struct remote_sandbox *s, const char *snapshot,
	            int64_t deadline, struct error *err);
	/* Succeeds when there is none. */
	int (*remove)(struct remote *r, const char *snapshot, int64_t deadline, struct error *err);
	/* Those of this server. */
	int (*list)(struct remote *r, struct arena *a, int64_t deadline, struct provider_list *ret,
	            struct error *err);
	bool takes_stopped;    /* a stopped sandbox is not woken for it */
	bool copies_processes; /* a sandbox that is made from a snapshot runs those of its moment */
};

void remote_snapshot_name(const struct remote *r, const char *snapshot,
                          char ret[REMOTE_SNAPSHOT_NAME_SIZE]);
/* Adds the snapshot whose name is in the text, such as "TEAM/NAME:TAG", unless it is not one of
 * this server. */
void remote_snapshot_note(const struct remote *r, struct arena *a, const char *text,
                          struct provider_list *list, size_t *capacity);

/* For provider_ops. A sandbox cannot be reset to a snapshot. */
extern const struct snapshot_ops remote_snapshots;
