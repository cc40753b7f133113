/* SPDX-License-Identifier: Apache-2.0 */
/* provider/volume.h — storage of a provider that outlives its sandboxes. A sandbox has it by
 * sandbox_spec.mounts. As for provider.h: calls block, by any thread, until their deadline. */
#pragma once

#include "provider/provider.h"

struct provider_volume {
	enum broker_volume_verb verb;
	const char *id;
	int64_t size_mb; /* MAKE; 0 = no limit. GROW */
	/* ATTACH and DETACH */
	const char *sandbox_id;
	const char *path, *subpath; /* NULL or "": all of the volume */
	bool is_read_only, is_forced;
};
struct provider_volume_state {
	bool size_is_advisory; /* MAKE */
	uint64_t used_bytes;   /* LOOK; UINT64_MAX = not known */
};

struct volume_ops {
	/* Making one that is there and removing one that is not are fine; so are attaching and
	 * detaching. */
	int (*run)(struct provider *p, const struct provider_volume *request, int64_t deadline,
	           struct provider_volume_state *ret, struct error *err);
	/* Entries of volumes, none of them `running`. */
	int (*list)(struct provider *p, struct arena *a, struct provider_list *ret,
	            struct error *err);
};
