/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "provider/host_failure.h"
#include "provider/native/broker_client.h"
#include "provider/native/broker_provider.h"
#include "provider/pool.h"
#include "wire/broker.h"
#include "wire/broker_pool.h"

#define LIST_MS 10000
#define POOLS_MAX 1024

static uint64_t cpu_milli(double cpu)
{
	return (uint64_t)(cpu * 1000 + 0.5);
}

static int set_pool(struct provider *p, const struct provider_pool *pool, int64_t deadline,
                    struct error *err)
{
	struct broker_pool message = {
	        .name = pool->name,
	        .template_name = pool->template_dir,
	        .snapshot = pool->snapshot,
	        .network = pool->network,
	        .privileges = pool->privileges,
	        .cpu_milli = cpu_milli(pool->resources.cpu),
	        .memory_bytes = (uint64_t)pool->resources.memory_mb << 20,
	        .disk_bytes = (uint64_t)pool->resources.disk_mb << 20,
	        .pids = (uint64_t)pool->resources.pids,
	        .min = pool->min,
	        .target = pool->target,
	        .max = pool->max,
	        .warm = pool->warm,
	        .warm_wish = pool->warm_wish,
	};
	const struct broker_call call = {.type = BROKER_POOL,
	                                 .shape = broker_pool_shape,
	                                 .message = &message,
	                                 .may_repeat = true};

	return broker_client_call(broker_provider_client(p), &call, deadline, err);
}

static int note_pool(void *context, const void *reply, UNUSED struct error *err)
{
	const struct broker_pool_state *from = reply;
	struct provider_pool pool = {
	        .resources = {.cpu = (double)from->cpu_milli / 1000,
	                      .memory_mb = (int64_t)(from->memory_bytes >> 20),
	                      .disk_mb = (int64_t)(from->disk_bytes >> 20),
	                      .pids = (int64_t)from->pids},
	        .network = from->network ? SANDBOX_NETWORK_INTERNET : SANDBOX_NETWORK_BLOCKED,
	        .privileges = from->privileges,
	        .min = from->min,
	        .target = from->target,
	        .max = from->max,
	        .depth = from->depth,
	        .ready = from->ready,
	        .preparing = from->preparing,
	        .hits = from->hits,
	        .misses = from->misses,
	        .failed = from->failed,
	};

	if (from->failed > 0) {
		error_set(&pool.problem, (enum error_code)from->code, (int)from->sys_errno, HERE,
		          "%s", from->text);
		error_hint(&pool.problem, "%s", from->hint);
		host_failure_explain(&pool.problem);
	}

	(void)snprintf(pool.name, sizeof(pool.name), "%s", from->name);
	(void)snprintf(pool.template_dir, sizeof(pool.template_dir), "%s", from->template_name);
	(void)snprintf(pool.snapshot, sizeof(pool.snapshot), "%s", from->snapshot);
	(void)snprintf(pool.warm, sizeof(pool.warm), "%s", from->warm);
	buf_add(context, &pool, sizeof(pool));
	return 0;
}

static int list_pools(struct provider *p, struct arena *a, struct provider_pools *ret,
                      struct error *err)
{
	AUTO(buf_done) struct buf pools = BUF(POOLS_MAX * sizeof(struct provider_pool));
	struct broker_id message = {.sandbox = ""};
	struct broker_pool_state state;
	const struct broker_call call = {
	        .type = BROKER_POOLS,
	        .shape = broker_id_shape,
	        .message = &message,
	        .may_repeat = false,
	        WIRE_REPLY(BROKER_POOL_STATE, broker_pool_state_shape, state),
	        .arena = a,
	        .on_entry = note_pool,
	        .context = &pools,
	};

	if (broker_client_call(broker_provider_client(p), &call, deadline_after(LIST_MS), err) < 0)
		return -1;
	if (pools.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "more than %d pools", POOLS_MAX);
	ret->count = pools.size / sizeof(struct provider_pool);
	ret->items = (void *)arena_copy(a, buf_span(&pools));
	return 0;
}

const struct pool_ops broker_pools = {.set = set_pool, .list = list_pools};
