/* SPDX-License-Identifier: Apache-2.0 */
/* provider/pool.h — sandboxes that a provider prepares before a create. A create that matches a
 * pool gets a prepared sandbox if one is ready; the caller need not know. The rules of provider.h
 * apply. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/id.h"
#include "sandbox/sandbox.h"

struct provider;

struct provider_pool {
	char name[ID_SIZE + 1]; /* "" = automatic: a pool that follows demand */
	char template_dir[64];
	char snapshot[ID_SIZE + 1]; /* whose files its sandboxes begin with; "" = none */
	struct sandbox_resources resources;
	enum sandbox_network network;
	bool privileges;
	unsigned min; /* docs/use/pools.md explains the three */
	unsigned target;
	unsigned max;
	char warm[64];         /* as in sandbox_spec; "" = none */
	struct span warm_wish; /* set: an AGENT_WARM frame for the agents; empty in a list */

	/* In a list only. */
	unsigned depth; /* layers of the snapshot */
	unsigned ready;
	unsigned preparing;
	uint64_t hits;
	uint64_t misses;
	unsigned failed;      /* preparations that failed since the last success */
	struct error problem; /* of the last failed preparation */
};
struct provider_pools {
	struct provider_pool *items; /* in the arena */
	size_t count;
};

struct pool_ops {
	/* Makes or changes the pool of this name. A `max` of 0 removes it, and succeeds when there
	 * is none. */
	int (*set)(struct provider *p, const struct provider_pool *pool, int64_t deadline,
	           struct error *err);
	int (*list)(struct provider *p, struct arena *a, struct provider_pools *ret,
	            struct error *err);
};
