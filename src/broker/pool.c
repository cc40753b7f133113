/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/pool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "wire/agent_warm.h"

#define LOOK_MS 5000

bool blueprint_equals(const struct blueprint *a, const struct blueprint *b)
{
	return a->internet == b->internet && a->privileges == b->privileges &&
	       a->disk_bytes == b->disk_bytes && a->limits.cpu_milli == b->limits.cpu_milli &&
	       a->limits.memory_bytes == b->limits.memory_bytes &&
	       a->limits.pids == b->limits.pids && a->limits.background == b->limits.background &&
	       strcmp(a->template_name, b->template_name) == 0 && strcmp(a->warm, b->warm) == 0 &&
	       chain_equals(&a->chain, &b->chain);
}

static int64_t now_ms(void)
{
	return clock_monotonic_ms();
}

/* ---- those that nobody gets ---- */

static void forget(struct box *box)
{
	struct pool *pool = box->pool;

	list_remove(&box->item);
	if (box->state == BOX_PREPARED)
		pool->ready_count--;
	else
		pool->preparing_count--;
	box->pool = NULL;
}

/* Its end is told by its pidfd, and box.c clears it up then. */
static void dissolve(struct box *box)
{
	struct pools *p = box->pool->pools;

	forget(box);
	list_append(&p->ending, &box->item);
	box_kill(box);
}

static void dissolve_all(struct pool *pool)
{
	LIST_EACH (&pool->ready, item)
		dissolve(LIST_ENTRY(item, struct box, item));
	LIST_EACH (&pool->preparing, item)
		dissolve(LIST_ENTRY(item, struct box, item));
}

static void pool_free(struct pool *pool)
{
	dissolve_all(pool);
	if (*pool->name)
		pool->pools->named_count--;
	else
		pool->pools->automatic_count--;
	list_remove(&pool->item);
	buf_done(&pool->warm_wish);
	free(pool);
}

void pool_on_failure(struct box *box, const struct error *err)
{
	struct pool *pool = box->pool;

	pool->failures++;
	pool->failed++;
	pool->problem = *err;
	pool->failed_ms = now_ms();
	log_warning("a sandbox could not be prepared", TEXT("template", box->template_name),
	            FAILURE(err));
	dissolve(box);
}

void pools_forget_template(struct pools *p, const char *template_name)
{
	LIST_EACH (&p->all, item) {
		struct pool *pool = LIST_ENTRY(item, struct pool, item);

		if (strcmp(pool->blueprint.template_name, template_name) != 0)
			continue;
		pool->failures = 0;
		if (*pool->name)
			dissolve_all(pool);
		else
			pool_free(pool);
	}
}

void pools_close(struct pools *p)
{
	timer_stop(&p->rest);
	timer_stop(&p->look);
	LIST_EACH (&p->all, item)
		pool_free(LIST_ENTRY(item, struct pool, item));
	LIST_EACH (&p->ending, item)
		box_bury_unnamed(LIST_ENTRY(item, struct box, item));
}

/* ---- what there is to be ---- */

static unsigned sum_of_goals(const struct pools *p, int64_t now)
{
	unsigned sum = 0;

	LIST_EACH (&p->all, item)
		sum += pool_goal(LIST_ENTRY(item, struct pool, item), now);
	return sum;
}

static unsigned granted(const struct pool *pool, unsigned sum, int64_t now)
{
	return pool_share(pool_goal(pool, now), sum, pool->pools->max);
}

static bool is_forgotten(const struct pool *pool, int64_t now)
{
	return !*pool->name && now - pool->asked_ms > POOL_FORGET_MS;
}

/* The oldest go first. */
static void trim(struct pool *pool, unsigned goal)
{
	LIST_EACH (&pool->ready, item) {
		if (pool->ready_count + pool->preparing_count <= goal)
			return;
		dissolve(LIST_ENTRY(item, struct box, item));
	}
}

static void on_look(struct timer *timer)
{
	struct pools *p = CONTAINER_OF(timer, struct pools, look);
	int64_t now = now_ms();
	unsigned sum = sum_of_goals(p, now);

	LIST_EACH (&p->all, item) {
		struct pool *pool = LIST_ENTRY(item, struct pool, item);

		if (is_forgotten(pool, now)) {
			pool_free(pool);
			continue;
		}
		if (pool->failures > 0 && now - pool->failed_ms >= POOL_RETRY_MS)
			pool->failures = 0;
		trim(pool, granted(pool, sum, now));
	}
	if (!list_is_empty(&p->all))
		timer_start(p->boxes->events, &p->look, LOOK_MS);
}

static struct pool *pool_new(struct pools *p, const char *name, const struct blueprint *blueprint)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		abort();
	*pool = (struct pool){.pools = p, .blueprint = *blueprint};
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
		p->look.on_time = on_look;
		timer_start(p->boxes->events, &p->look, LOOK_MS);
	}
	return pool;
}

/* ---- those that are set ---- */

static struct pool *find_name(struct pools *p, const char *name)
{
	LIST_EACH (&p->all, item) {
		struct pool *pool = LIST_ENTRY(item, struct pool, item);

		if (strcmp(pool->name, name) == 0)
			return pool;
	}
	return NULL;
}

int pools_set(struct pools *p, const char *name, const struct blueprint *blueprint,
              const struct pool_size *size, struct span warm_wish, struct error *err)
{
	struct pool *pool = find_name(p, name);

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
		dissolve_all(pool);
		pool->blueprint = *blueprint;
		pool->failed = 0;
	}
	pool->size = *size;
	pool->failures = 0;
	buf_reset(&pool->warm_wish);
	buf_add_span(&pool->warm_wish, warm_wish);
	return 0;
}

void pools_each(struct pools *p, void (*on_pool)(void *context, const struct pool *pool),
                void *context)
{
	LIST_EACH (&p->all, item)
		on_pool(context, LIST_ENTRY(item, struct pool, item));
}

/* ---- those that follow what is asked for ---- */

static void make_room(struct pools *p)
{
	struct pool *oldest = NULL;

	LIST_EACH (&p->all, item) {
		struct pool *pool = LIST_ENTRY(item, struct pool, item);

		if (!*pool->name)
			oldest = pool;
	}
	if (oldest && p->automatic_count == POOLS_AUTOMATIC_MAX)
		pool_free(oldest);
}

/* A snapshot's files are mostly wanted once: only the second who asks in a row begins a pool, and
 * it keeps nothing when that has ended. */
static struct pool *follow(struct pools *p, const struct blueprint *wanted)
{
	bool is_repeated = p->has_last && blueprint_equals(&p->last, wanted);
	struct pool *pool;

	p->last = *wanted;
	p->has_last = true;
	if (p->automatic == 0 || (wanted->chain.count > 0 && !is_repeated))
		return NULL;
	make_room(p);
	pool = pool_new(p, "", wanted);
	pool->size = (struct pool_size){
	        .min = wanted->chain.count == 0, .target = p->automatic, .max = p->automatic};
	return pool;
}

/* A template's own before an automatic one. */
static struct pool *find_blueprint(struct pools *p, const struct blueprint *wanted)
{
	struct pool *found = NULL;

	LIST_EACH (&p->all, item) {
		struct pool *pool = LIST_ENTRY(item, struct pool, item);

		if (blueprint_equals(&pool->blueprint, wanted) && (!found || *pool->name))
			found = pool;
	}
	return found;
}

/* ---- taking one ---- */

static struct box *take_ready(struct pool *pool)
{
	LIST_EACH (&pool->ready, item) {
		struct box *box = LIST_ENTRY(item, struct box, item);

		if (!pidfd_is_alive(box->pidfd)) {
			log_warning("a prepared sandbox died while it waited",
			            NUMBER("slot", box->slot));
			dissolve(box);
			continue;
		}
		forget(box);
		return box;
	}
	return NULL;
}

/* Who wants an interpreter but finds none that is his takes one without. */
static struct pool *find_for(struct pools *p, struct blueprint *wanted)
{
	struct pool *pool = find_blueprint(p, wanted);

	if (pool || !*wanted->warm)
		return pool;
	wanted->warm[0] = '\0';
	return find_blueprint(p, wanted);
}

struct box *pools_take(struct pools *p, const struct blueprint *asked_for)
{
	int64_t now = now_ms();
	struct blueprint wanted = *asked_for;
	struct pool *pool = find_for(p, &wanted);
	struct box *box;

	p->asked_ms = now;
	if (!pool)
		pool = follow(p, &wanted);
	if (!pool)
		return NULL;
	pool->asked_ms = now;
	pool->failures = 0;
	list_remove(&pool->item);
	list_insert_after(&p->all, &pool->item);
	box = take_ready(pool);
	if (box)
		pool->hits++;
	else
		pool_miss(pool, now);
	return box;
}

/* ---- refill ---- */

void pool_on_ready(struct box *box)
{
	struct pool *pool = box->pool;

	fault_point("broker", "pool-prepared");
	box->state = BOX_PREPARED;
	pool->failures = pool->failed = 0;
	pool->preparing_count--;
	pool->ready_count++;
	list_remove(&box->item);
	list_append(&pool->ready, &box->item);
}

static void prepare(struct pool *pool, struct cell *cell)
{
	const struct blueprint *blueprint = &pool->blueprint;
	struct box *box = box_new(pool->pools->boxes, "");

	box->pool = pool;
	box->internet = blueprint->internet;
	box->privileges = blueprint->privileges;
	box->disk_is_advisory = true;
	box->disk_bytes = blueprint->disk_bytes;
	box->limits = blueprint->limits;
	memcpy(box->template_name, blueprint->template_name, sizeof(box->template_name));
	pool->preparing_count++;
	pool->refill = ++pool->pools->refills;
	box_begin(box, cell, &pool->preparing);
}

/* Some stay for those who want what no pool has. */
static struct cell *take_cell(struct pool *pool)
{
	struct cell_pool *cells = pool->pools->boxes->cells;
	enum cell_kind kind = pool->blueprint.internet ? CELL_INTERNET : CELL_BLOCKED;
	const struct cell_guess guess = {.template_name = pool->blueprint.template_name,
	                                 .chain = &pool->blueprint.chain,
	                                 .limits = &pool->blueprint.limits};

	if (cells->ready_count[kind] > cells->host->options.cells / 2)
		return cells_take(cells, kind, &guess);
	return NULL;
}

struct refill {
	struct pool *next; /* of those that are due, the one whose turn it is */
	unsigned preparing;
	unsigned lacking[CELL_KIND_COUNT];
	int64_t wait_ms; /* until another is due; 0 = none */
};

static void consider(struct refill *r, struct pool *pool, unsigned goal, int64_t since_ms)
{
	unsigned coming = pool->ready_count + pool->preparing_count;
	int64_t wait_ms;

	r->preparing += pool->preparing_count;
	if (!pool_is_due(pool, goal, since_ms, &wait_ms)) {
		if (wait_ms > r->wait_ms)
			r->wait_ms = wait_ms;
		return;
	}
	r->lacking[pool->blueprint.internet ? CELL_INTERNET : CELL_BLOCKED] += goal - coming;
	if (!r->next || pool_goes_before(pool, r->next))
		r->next = pool;
}

static void on_rested(struct timer *timer)
{
	(void)timer; /* the loop looks again by itself */
}

bool pools_refill(struct pools *p)
{
	struct cell_pool *cells = p->boxes->cells;
	int64_t now = now_ms();
	unsigned sum = sum_of_goals(p, now);
	struct refill r = {.next = NULL};
	struct cell *cell;

	LIST_EACH (&p->all, item) {
		struct pool *pool = LIST_ENTRY(item, struct pool, item);

		consider(&r, pool, granted(pool, sum, now), now - p->asked_ms);
	}
	memcpy(cells->wanted_more, r.lacking, sizeof(cells->wanted_more));
	if (r.wait_ms > 0 && list_is_empty(&p->rest.item)) {
		p->rest.on_time = on_rested;
		timer_start(p->boxes->events, &p->rest, r.wait_ms);
	}
	if (!r.next || r.preparing >= POOL_PREPARING_MAX || boxes_are_waiting(p->boxes))
		return false;
	cell = take_cell(r.next);
	if (!cell) {
		cells_guess(cells, &(struct cell_guess){r.next->blueprint.template_name,
		                                        &r.next->blueprint.chain,
		                                        &r.next->blueprint.limits});
		return false;
	}
	prepare(r.next, cell);
	return true;
}

void pools_init(struct pools *p, struct boxes *boxes)
{
	const struct broker_options *options = &boxes->host->options;

	*p = (struct pools){
	        .boxes = boxes, .automatic = options->pool_automatic, .max = options->pool_max};
	list_init(&p->all);
	list_init(&p->ending);
	list_init(&p->rest.item);
	list_init(&p->look.item);
}
