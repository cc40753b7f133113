/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/sandbox/pool.h"

#define FAILURES_MAX 3

static unsigned min_unsigned(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned pool_goal(const struct prepared_pool *pool, int64_t now_ms)
{
	const struct pool_size *size = &pool->size;

	if (!pool->asked_ms || now_ms - pool->asked_ms > POOL_IDLE_MS)
		return size->min;
	if (pool->missed_ms && now_ms - pool->missed_ms <= POOL_BURST_MS)
		return min_unsigned(size->max, size->target + pool->burst);
	return size->target;
}

unsigned pool_share(unsigned goal, unsigned sum, unsigned max)
{
	if (sum <= max || goal == 0)
		return goal;
	if (max == 0)
		return 0;
	/* At least 1, so that a large pool does not starve a small one. */
	return (unsigned)((uint64_t)goal * max / sum) + ((uint64_t)goal * max < sum);
}

void pool_miss(struct prepared_pool *pool, int64_t now_ms)
{
	if (!pool->missed_ms || now_ms - pool->missed_ms > POOL_BURST_MS)
		pool->burst = 0;
	if (pool->burst < pool->size.max)
		pool->burst++;
	pool->missed_ms = now_ms;
	pool->misses++;
}

bool pool_goes_before(const struct prepared_pool *pool, const struct prepared_pool *other)
{
	return pool->refill < other->refill;
}

bool pool_is_due(const struct prepared_pool *pool, unsigned goal, int64_t since_asked_ms,
                 int64_t *ret_wait_ms)
{
	unsigned coming = pool->ready_count + pool->preparing_count;

	*ret_wait_ms = 0;
	if (coming >= goal || pool->failures >= FAILURES_MAX)
		return false;
	/* While half is ready, the request that took one, and its first command, come first. */
	if (2 * coming < goal || since_asked_ms >= POOL_REST_MS)
		return true;
	*ret_wait_ms = POOL_REST_MS - since_asked_ms;
	return false;
}
