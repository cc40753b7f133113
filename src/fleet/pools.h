/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/pools.h — how many sandboxes of a template are prepared before anybody asks for one. Any
 * worker may call; calls block.
 *
 * The store says what is wanted, the provider holds it; the tick makes them agree again after
 * whatever has changed: a template, the configuration, the broker's life. docs/use/pools.md. */
#pragma once

#include "fleet/fleet.h"
#include "provider/pool.h"

#define FLEET_POOL_MAX 256 /* of one template */
#define FLEET_POOL_FAILED                                                                          \
	3 /* failures in a row after which a pool counts as one that cannot fill */

struct fleet_pool_size {
	int64_t min, target, max; /* 0 <= min <= target <= max; a max of 0 = no pool */
};
/* From what is given, -1 = not: the minimum is the target, and the maximum twice that. */
MUST_CHECK int fleet_pool_size(int64_t min, int64_t target, int64_t max,
                               struct fleet_pool_size *ret, struct error *err);

struct fleet_pool_change {
	struct fleet_ref template;
	struct fleet_pool_size size;
	bool may_change_shared; /* a template that is everybody's */
};
struct fleet_pool {
	const char *template_id, *template_name; /* NULL = automatic */
	struct provider_pool state; /* zeros but for the sizes when it is not held here */
	bool is_failing;            /* it cannot be filled … */
	struct error problem;       /* … because; its hint is the cure */
};
struct fleet_pools {
	struct fleet_pool *items;
	size_t count;
};
MUST_CHECK int fleet_pool_set(struct fleet *fleet, struct arena *a,
                              const struct fleet_pool_change *change, struct fleet_pool *ret,
                              struct error *err);
/* Of the project's templates and everybody's; those that follow what is asked for `with_automatic`.
 */
MUST_CHECK int fleet_pools_list(struct fleet *fleet, struct arena *a, const char *project_id,
                                bool with_automatic, struct fleet_pools *ret, struct error *err);
/* As of the last tick: for metrics. Copies at most `max`, returns how many. */
struct fleet_pool_count {
	char template[64];
	bool is_automatic, is_failing;
	unsigned ready, target;
	uint64_t hits, misses;
};
/* Of all that asked, who got a prepared one: 0 to 1; 0 when nobody has asked. */
static inline double fleet_pool_hit_ratio(uint64_t hits, uint64_t misses)
{
	return hits > 0 ? (double)hits / ((double)hits + (double)misses) : 0;
}
size_t fleet_pool_counts(struct fleet *fleet, struct fleet_pool_count *ret, size_t max);
/* As of the last tick: the first pool of a template that is everybody's and that cannot be filled.
 * ERROR_UNAVAILABLE says why. *ret_count: how many such templates have a pool here. */
MUST_CHECK int fleet_pools_check_shared(struct fleet *fleet, size_t *ret_count, struct error *err);
