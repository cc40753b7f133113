/* SPDX-License-Identifier: Apache-2.0 */
/* provider/pool.h — sandboxes that a provider prepares before anybody asks for them. A create that
 * asks for just this gets one, if there is one: it need not know. As for provider.h: calls block,
 * by any thread, until their deadline. */
#pragma once

#include "provider/provider.h"

struct provider_pool {
	char name[ID_SIZE +
	          1]; /* whose it is; "" = automatic, a pool that follows what is asked for */
	char template_dir[64];
	char snapshot[ID_SIZE + 1]; /* that they begin with; "" = none */
	struct sandbox_resources resources;
	enum sandbox_network network;
	bool privileges;
	unsigned min, target, max; /* see docs/use/pools.md */
	char warm[64];             /* as of sandbox_spec; "" = none */
	struct span warm_wish; /* what their agents are told: an AGENT_WARM frame; not in a list */
	/* In a list only. */
	unsigned depth; /* layers of the snapshot that they begin with */
	unsigned ready, preparing;
	uint64_t hits, misses;
	unsigned failed;      /* since the last that was prepared … */
	struct error problem; /* … and why the last of them failed */
};
struct provider_pools {
	struct provider_pool *items; /* in the arena */
	size_t count;
};

struct pool_ops {
	/* Makes or changes the pool of this name; with a `max` of 0 ends it, fine when there is
	 * none. */
	int (*set)(struct provider *p, const struct provider_pool *pool, int64_t deadline,
	           struct error *err);
	int (*list)(struct provider *p, struct arena *a, struct provider_pools *ret,
	            struct error *err);
};
