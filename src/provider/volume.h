/* SPDX-License-Identifier: Apache-2.0 */
/* provider/volume.h — storage of a provider that outlives its sandboxes. sandbox_spec.mounts gives
 * volumes to a sandbox. The rules of provider.h apply. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct provider;
struct provider_list;

/* Each verb succeeds when the wanted state exists already. */
enum provider_volume_verb {
	PROVIDER_VOLUME_MAKE,
	PROVIDER_VOLUME_REMOVE, /* its files are deleted later */
	PROVIDER_VOLUME_LOOK,   /* measures the volume */
	PROVIDER_VOLUME_GROW,   /* to size_mb */
	PROVIDER_VOLUME_ATTACH, /* to a running sandbox */
	PROVIDER_VOLUME_DETACH,
};
struct provider_volume {
	enum provider_volume_verb verb;
	const char *id;
	int64_t size_mb; /* MAKE: 0 = no limit. GROW */

	/* ATTACH and DETACH */
	const char *sandbox_id;
	const char *path;    /* of the mount */
	const char *subpath; /* NULL or "": the whole volume */
	bool is_read_only;
	bool is_forced; /* DETACH: although a process uses it */
};
struct provider_volume_state {
	bool size_is_advisory; /* MAKE */
	uint64_t used_bytes;   /* LOOK: UINT64_MAX = not known */
};

struct volume_ops {
	bool is_with_create; /* a sandbox has its volumes from its creation on: no later changes */
	int (*run)(struct provider *p, const struct provider_volume *request, int64_t deadline,
	           struct provider_volume_state *ret, struct error *err);
	/* All volumes; `running` is false. */
	int (*list)(struct provider *p, struct arena *a, struct provider_list *ret,
	            struct error *err);
};
