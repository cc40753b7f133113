/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/sandbox/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/options.h"
#include "broker/prewarm/pool.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "wire/agent_warm.h"

#define LOOK_MS 5000

bool blueprint_equals(const struct blueprint *a, const struct blueprint *b)
{
	return a->internet == b->internet && a->privileges == b->privileges &&
	       a->disk_bytes == b->disk_bytes && a->limits.cpu_milli == b->limits.cpu_milli &&
	       a->limits.memory_bytes == b->limits.memory_bytes &&
	       a->limits.pids == b->limits.pids && a->limits.background == b->limits.background &&
	       strcmp(a->template_name, b->template_name) == 0 && strcmp(a->warm, b->warm) == 0 &&
	       layer_stack_equals(&a->stack, &b->stack);
}

static int64_t now_ms(void)
{
	return clock_monotonic_ms();
}

static void remove_from_pool(struct sandbox *sandbox)
{
	struct prepared_pool *pool = sandbox->pool;

	list_remove(&sandbox->item);
	if (sandbox->phase == SANDBOX_PREPARED)
		pool->ready_count--;
	else
		pool->preparing_count--;
	sandbox->pool = NULL;
}

/* The watch of its pidfd reports the end, and sandbox.c cleans up then. */
static void discard_prepared(struct sandbox *sandbox)
{
	struct prepared_pools *p = sandbox->pool->pools;

	remove_from_pool(sandbox);
	list_append(&p->ending, &sandbox->item);
	sandbox_kill(sandbox);
}

static void empty_pool(struct prepared_pool *pool)
{
	LIST_EACH (&pool->ready, struct sandbox, sandbox, item)
		discard_prepared(sandbox);
	LIST_EACH (&pool->preparing, struct sandbox, sandbox, item)
		discard_prepared(sandbox);
}

static void pool_free(struct prepared_pool *pool)
{
	empty_pool(pool);
	if (*pool->name)
		pool->pools->named_count--;
	else
		pool->pools->automatic_count--;
	list_remove(&pool->item);
	buf_done(&pool->warm_wish);
	free(pool);
}

void pool_on_failure(struct sandbox *sandbox, const struct error *err)
{
	struct prepared_pool *pool = sandbox->pool;

	pool->failures++;
	pool->failed++;
	pool->problem = *err;
	pool->failed_ms = now_ms();
	log_warning("a sandbox could not be prepared", TEXT("template", sandbox->template_name),
	            FAILURE(err));
	discard_prepared(sandbox);
}

void pools_forget_template(struct prepared_pools *p, const char *template_name)
{
	LIST_EACH (&p->all, struct prepared_pool, pool, item) {
		if (strcmp(pool->blueprint.template_name, template_name) != 0)
			continue;
		pool->failures = 0;
		if (*pool->name)
			empty_pool(pool);
		else
			pool_free(pool);
	}
}

void pools_close(struct prepared_pools *p)
{
	timer_stop(&p->rest);
	timer_stop(&p->look);
	LIST_EACH (&p->all, struct prepared_pool, pool, item)
		pool_free(pool);
	LIST_EACH (&p->ending, struct sandbox, sandbox, item)
		sandbox_reap_unnamed(sandbox);
}

static unsigned sum_of_goals(const struct prepared_pools *p, int64_t now)
{
	unsigned sum = 0;

	LIST_EACH (&p->all, struct prepared_pool, pool, item)
		sum += pool_goal(pool, now);
	return sum;
}

static unsigned granted_size(const struct prepared_pool *pool, unsigned sum, int64_t now)
{
	return pool_share(pool_goal(pool, now), sum, pool->pools->max);
}

static bool is_expired(const struct prepared_pool *pool, int64_t now)
{
	return !*pool->name && now - pool->asked_ms > POOL_FORGET_MS;
}

/* Discards the oldest first. */
static void trim_pool(struct prepared_pool *pool, unsigned goal)
{
	LIST_EACH (&pool->ready, struct sandbox, sandbox, item) {
		if (pool->ready_count + pool->preparing_count <= goal)
			return;
		discard_prepared(sandbox);
	}
}

static void on_trim_time(struct timer *timer)
{
	struct prepared_pools *p = CONTAINER_OF(timer, struct prepared_pools, look);
	int64_t now = now_ms();
	unsigned sum = sum_of_goals(p, now);

	LIST_EACH (&p->all, struct prepared_pool, pool, item) {
		if (is_expired(pool, now)) {
			pool_free(pool);
			continue;
		}
		if (pool->failures > 0 && now - pool->failed_ms >= POOL_RETRY_MS)
			pool->failures = 0;
		trim_pool(pool, granted_size(pool, sum, now));
	}
	if (!list_is_empty(&p->all))
		timer_start(p->sandboxes->events, &p->look, LOOK_MS);
}

static struct prepared_pool *pool_new(struct prepared_pools *p, const char *name,
                                      const struct blueprint *blueprint)
{
	struct prepared_pool *pool = memory_new(sizeof(*pool));

	*pool = (struct prepared_pool){.pools = p, .blueprint = *blueprint};
	(void)snprintf(pool->name, sizeof(pool->name), "%s", name);
	pool->warm_wish = BUF(AGENT_WARM_WISH_MAX);
	list_init(&pool->ready);
	list_init(&pool->preparing);
	list_append(&p->all, &pool->item);
	if (*name)
		p->named_count++;
	else
		p->automatic_count++;
	if (list_is_empty(&p->look.item)) {
		p->look.on_time = on_trim_time;
		timer_start(p->sandboxes->events, &p->look, LOOK_MS);
	}
	return pool;
}

static struct prepared_pool *find_name(struct prepared_pools *p, const char *name)
{
	LIST_EACH (&p->all, struct prepared_pool, pool, item)
		if (strcmp(pool->name, name) == 0)
			return pool;
	return NULL;
}

int pools_set(struct prepared_pools *p, const char *name, const struct blueprint *blueprint,
              const struct pool_size *size, struct span warm_wish, struct error *err)
{
	struct prepared_pool *pool = find_name(p, name);

	if (size->max == 0) {
		if (pool)
			pool_free(pool);
		return 0;
	}
	if (!pool && p->named_count == POOLS_MAX)
		return FAIL(err, ERROR_LIMIT, "more than %d templates have a pool", POOLS_MAX);
	if (!pool)
		pool = pool_new(p, name, blueprint);
	if (!blueprint_equals(&pool->blueprint, blueprint)) {
		empty_pool(pool);
		pool->blueprint = *blueprint;
		pool->failed = 0;
	}
	pool->size = *size;
	pool->failures = 0;
	buf_reset(&pool->warm_wish);
	buf_add_span(&pool->warm_wish, warm_wish);
	return 0;
}

void pools_each(struct prepared_pools *p,
                void (*on_pool)(void *context, const struct prepared_pool *pool), void *context)
{
	LIST_EACH (&p->all, struct prepared_pool, pool, item)
		on_pool(context, pool);
}

static void make_room(struct prepared_pools *p)
{
	struct prepared_pool *oldest = NULL;

	LIST_EACH (&p->all, struct prepared_pool, pool, item)
		if (!*pool->name)
			oldest = pool;
	if (oldest && p->automatic_count == POOLS_AUTOMATIC_MAX)
		pool_free(oldest);
}

/* The files of a snapshot are mostly wanted once. So only the second request in a row starts a
 * pool, and the pool keeps nothing ready when requests stop. */
static struct prepared_pool *make_automatic(struct prepared_pools *p,
                                            const struct blueprint *wanted)
{
	bool is_repeated = p->has_last && blueprint_equals(&p->last, wanted);
	struct prepared_pool *pool;

	p->last = *wanted;
	p->has_last = true;
	if (p->automatic == 0 || (wanted->stack.count > 0 && !is_repeated))
		return NULL;
	make_room(p);
	pool = pool_new(p, "", wanted);
	pool->size = (struct pool_size){
	        .min = wanted->stack.count == 0, .target = p->automatic, .max = p->automatic};
	return pool;
}

/* Prefers a template's own pool to an automatic one. */
static struct prepared_pool *find_blueprint(struct prepared_pools *p,
                                            const struct blueprint *wanted)
{
	struct prepared_pool *found = NULL;

	LIST_EACH (&p->all, struct prepared_pool, pool, item)
		if (blueprint_equals(&pool->blueprint, wanted) && (!found || *pool->name))
			found = pool;
	return found;
}

static struct sandbox *take_ready(struct prepared_pool *pool)
{
	LIST_EACH (&pool->ready, struct sandbox, sandbox, item) {
		if (!pidfd_is_alive(sandbox->pidfd)) {
			log_warning("a prepared sandbox died while it waited",
			            NUMBER("slot", sandbox->slot));
			discard_prepared(sandbox);
			continue;
		}
		remove_from_pool(sandbox);
		return sandbox;
	}
	return NULL;
}

/* A create that wants a warm interpreter takes a sandbox without one if none has it. */
static struct prepared_pool *find_pool(struct prepared_pools *p, struct blueprint *wanted)
{
	struct prepared_pool *pool = find_blueprint(p, wanted);

	if (pool || !*wanted->warm)
		return pool;
	wanted->warm[0] = '\0';
	return find_blueprint(p, wanted);
}

struct sandbox *pools_take(struct prepared_pools *p, const struct blueprint *asked_for)
{
	int64_t now = now_ms();
	struct blueprint wanted = *asked_for;
	struct prepared_pool *pool = find_pool(p, &wanted);
	struct sandbox *sandbox;

	p->asked_ms = now;
	if (!pool)
		pool = make_automatic(p, &wanted);
	if (!pool)
		return NULL;
	pool->asked_ms = now;
	pool->failures = 0;
	list_remove(&pool->item);
	list_insert_after(&p->all, &pool->item);
	sandbox = take_ready(pool);
	if (sandbox)
		pool->hits++;
	else
		pool_miss(pool, now);
	return sandbox;
}

void pool_on_ready(struct sandbox *sandbox)
{
	struct prepared_pool *pool = sandbox->pool;

	fault_point("broker", "pool-prepared");
	sandbox->phase = SANDBOX_PREPARED;
	pool->failures = pool->failed = 0;
	pool->preparing_count--;
	pool->ready_count++;
	list_remove(&sandbox->item);
	list_append(&pool->ready, &sandbox->item);
}

static void prepare_sandbox(struct prepared_pool *pool, struct prewarm *prewarm)
{
	const struct blueprint *blueprint = &pool->blueprint;
	struct sandbox *sandbox = sandbox_new(pool->pools->sandboxes, "");

	sandbox->pool = pool;
	sandbox->internet = blueprint->internet;
	sandbox->privileges = blueprint->privileges;
	sandbox->disk_is_advisory = true;
	sandbox->disk_bytes = blueprint->disk_bytes;
	sandbox->limits = blueprint->limits;
	memcpy(sandbox->template_name, blueprint->template_name, sizeof(sandbox->template_name));
	pool->preparing_count++;
	pool->refill = ++pool->pools->refills;
	sandbox_begin_set_up(sandbox, prewarm, &pool->preparing);
}

/* Leaves some prewarmed sandboxes for creates that no pool serves. */
static struct prewarm *take_spare_prewarm(struct prepared_pool *pool)
{
	struct prewarm_pool *prewarm_pool = pool->pools->sandboxes->prewarm_pool;
	enum prewarm_kind kind = pool->blueprint.internet ? PREWARM_INTERNET : PREWARM_BLOCKED;
	const struct prewarm_guess guess = {.template_name = pool->blueprint.template_name,
	                                    .stack = &pool->blueprint.stack,
	                                    .limits = &pool->blueprint.limits};

	if (prewarm_pool->ready_count[kind] > prewarm_pool->host->options->cells / 2)
		return prewarm_pool_take(prewarm_pool, kind, &guess);
	return NULL;
}

struct refill {
	struct prepared_pool *next; /* the due pool whose turn it is */
	unsigned preparing;
	unsigned lacking[PREWARM_KIND_COUNT];
	int64_t wait_ms; /* until another is due; 0 = none */
};

static void consider_pool(struct refill *r, struct prepared_pool *pool, unsigned goal,
                          int64_t since_ms)
{
	unsigned coming = pool->ready_count + pool->preparing_count;
	int64_t wait_ms;

	r->preparing += pool->preparing_count;
	if (!pool_is_due(pool, goal, since_ms, &wait_ms)) {
		if (wait_ms > r->wait_ms)
			r->wait_ms = wait_ms;
		return;
	}
	r->lacking[pool->blueprint.internet ? PREWARM_INTERNET : PREWARM_BLOCKED] += goal - coming;
	if (!r->next || pool_goes_before(pool, r->next))
		r->next = pool;
}

static void on_refill_delay_end(struct timer *timer)
{
	(void)timer; /* the loop calls pools_refill when it is idle */
}

bool pools_refill(struct prepared_pools *p)
{
	struct prewarm_pool *prewarm_pool = p->sandboxes->prewarm_pool;
	int64_t now = now_ms();
	unsigned sum = sum_of_goals(p, now);
	struct refill r = {.next = NULL};
	struct prewarm *prewarm;

	LIST_EACH (&p->all, struct prepared_pool, pool, item)
		consider_pool(&r, pool, granted_size(pool, sum, now), now - p->asked_ms);
	memcpy(prewarm_pool->wanted_more, r.lacking, sizeof(prewarm_pool->wanted_more));
	if (r.wait_ms > 0 && list_is_empty(&p->rest.item)) {
		p->rest.on_time = on_refill_delay_end;
		timer_start(p->sandboxes->events, &p->rest, r.wait_ms);
	}
	if (!r.next || r.preparing >= POOL_PREPARING_MAX || sandboxes_are_waiting(p->sandboxes))
		return false;
	prewarm = take_spare_prewarm(r.next);
	if (!prewarm) {
		prewarm_pool_guess(prewarm_pool,
		                   &(struct prewarm_guess){r.next->blueprint.template_name,
		                                           &r.next->blueprint.stack,
		                                           &r.next->blueprint.limits});
		return false;
	}
	prepare_sandbox(r.next, prewarm);
	return true;
}

void pools_init(struct prepared_pools *p, struct sandboxes *sandboxes)
{
	const struct broker_options *options = sandboxes->host->options;

	*p = (struct prepared_pools){.sandboxes = sandboxes,
	                             .automatic = options->pool_automatic,
	                             .max = options->pool_max};
	list_init(&p->all);
	list_init(&p->ending);
	list_init(&p->rest.item);
	list_init(&p->look.item);
}
