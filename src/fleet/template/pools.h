/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/template/pools.h — pools: prepared sandboxes of a template, ready before a create asks for
 * one. Any worker may call; calls block.
 *
 * The store has the wanted sizes, the provider holds the pools. The tick reconciles both after
 * changes of templates or configuration and after a restart of the broker. See docs/use/pools.md.
 */
#pragma once

#include "fleet/core/sandboxes.h"
#include "provider/pool.h"

struct fleet;

#define FLEET_POOL_MAX 256 /* of one template */
/* After so many failures in a row a pool counts as failing. */
#define FLEET_POOL_FAILED 3

struct fleet_pool_size {
	int64_t min, target, max; /* 0 <= min <= target <= max; a max of 0 = no pool */
};
/* Completes a size; -1 = not given. The default minimum is the target, the default maximum twice
 * the target. */
MUST_CHECK int fleet_pool_size(int64_t min, int64_t target, int64_t max,
                               struct fleet_pool_size *ret, struct error *err);

struct fleet_pool_change {
	struct fleet_ref template;
	struct fleet_pool_size size;
	bool may_change_shared; /* may change a template without a project */
};
struct fleet_pool {
	const char *template_id, *template_name; /* NULL: an automatic pool */
	struct provider_pool state; /* only the sizes are set if this server does not hold it */
	bool is_failing;            /* it cannot be filled */
	struct error problem;       /* the reason; the hint is the cure */
};
struct fleet_pools {
	struct fleet_pool *items;
	size_t count;
};
MUST_CHECK int fleet_pool_set(struct fleet *fleet, struct arena *a,
                              const struct fleet_pool_change *change, struct fleet_pool *ret,
                              struct error *err);
/* Pools of the templates that the project sees; `with_automatic`: also the pools that the
 * broker makes by itself, after recent creates. */
MUST_CHECK int fleet_pools_list(struct fleet *fleet, struct arena *a, const char *project_id,
                                bool with_automatic, struct fleet_pools *ret, struct error *err);
/* Counts as of the last tick, for metrics. Copies at most `max`, returns the number. */
struct fleet_pool_count {
	char template[64];
	bool is_automatic, is_failing;
	unsigned ready, target;
	uint64_t hits, misses;
};
/* Share of creates that got a prepared sandbox, 0 to 1; 0 without creates. */
static inline double fleet_pool_hit_ratio(uint64_t hits, uint64_t misses)
{
	return hits > 0 ? (double)hits / ((double)hits + (double)misses) : 0;
}
size_t fleet_pool_counts(struct fleet *fleet, struct fleet_pool_count *ret, size_t max);
/* As of the last tick: ERROR_UNAVAILABLE with the problem of the first failing pool among the
 * templates without a project. *ret_count: how many of these templates have a pool here. */
MUST_CHECK int fleet_pools_check_shared(struct fleet *fleet, size_t *ret_count, struct error *err);
