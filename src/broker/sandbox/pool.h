/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/pool.h — sandboxes that are set up before a create asks for them.
 *
 *      prewarmed ──► prepared: in a pool, its whole plan applied, its agent waiting for a claim
 *                       │ a create with the same blueprint
 *                       ▼
 *                    claimed: it has a name, and is in by_id like any other
 *
 * A pool serves one blueprint: all that two sandboxes have in common that differ only in what a
 * claim sets. atolld defines named pools, one for each template that has one; automatic pools
 * follow the creates. Nothing runs in a prepared sandbox but its agent and what the agent keeps
 * warm. Like a prewarmed sandbox it has no name on the disk, and ends with its broker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "broker/host/event.h"
#include "broker/layers/stack.h"
#include "isolation/cgroups.h"

struct sandbox;
struct sandboxes;

#define POOL_NAME_MAX 64
#define POOLS_MAX 256          /* named ones */
#define POOLS_AUTOMATIC_MAX 4  /* a new one replaces the one that was unused longest */
#define POOL_IDLE_MS 60000     /* a pool that was unused for this time shrinks to its minimum */
#define POOL_BURST_MS 10000    /* a pool is larger than its target for this time after a miss */
#define POOL_FORGET_MS 3600000 /* an automatic pool ends when it was unused for this time */
#define POOL_REST_MS 20        /* no refill after a create, unless more than half is missing */
#define POOL_PREPARING_MAX 2   /* at once, over all pools */
#define POOL_RETRY_MS 60000    /* a pool that failed is tried again after this time */

struct blueprint {
	bool internet, privileges;
	char template_name[POOL_NAME_MAX];
	struct cgroup_limits limits;
	uint64_t disk_bytes;
	struct layer_stack stack;
	char warm[POOL_NAME_MAX]; /* names the interpreter that is kept warm; "": none */
};

struct pool_size {
	unsigned min, target, max; /* 0 <= min <= target <= max */
};

struct prepared_pool {
	struct list item;
	struct prepared_pools *pools;
	char name[POOL_NAME_MAX]; /* id of a template; "": automatic */
	struct blueprint blueprint;
	struct pool_size size;
	struct buf warm_wish;         /* messages for the agents; may be empty */
	struct list ready, preparing; /* struct sandbox */
	unsigned ready_count, preparing_count;
	int64_t asked_ms;     /* of the last create; 0: never */
	int64_t missed_ms;    /* of the last miss; 0: never */
	unsigned burst;       /* misses that came soon after one another */
	unsigned failures;    /* in a row; too many stop the refill until a create or a retry */
	unsigned failed;      /* since the last success */
	struct error problem; /* of the last failure */
	int64_t failed_ms;
	uint64_t hits, misses;
	uint64_t refill; /* number of its last refill; 0: none */
};

struct prepared_pools {
	struct sandboxes *sandboxes;
	struct list all;    /* most recently used first */
	struct list ending; /* discarded sandboxes that are not dead yet */
	unsigned automatic; /* size of each automatic pool; 0: there are none */
	unsigned max;       /* prepared sandboxes in all pools */
	unsigned named_count, automatic_count;
	struct blueprint last; /* of the last create without a pool */
	bool has_last;
	int64_t asked_ms;  /* of the last create */
	uint64_t refills;  /* begun so far */
	struct timer rest; /* until a refill that is not urgent */
	struct timer look; /* until the pools are checked for idle sandboxes */
};

void pools_init(struct prepared_pools *p, struct sandboxes *sandboxes);
/* Kills what is prepared. */
void pools_close(struct prepared_pools *p);
/* Makes, changes or, with a `max` of 0, ends the pool of this name. */
MUST_CHECK int pools_set(struct prepared_pools *p, const char *name,
                         const struct blueprint *blueprint, const struct pool_size *size,
                         struct span warm_wish, struct error *err);
/* Calls back with each pool. */
void pools_each(struct prepared_pools *p,
                void (*on_pool)(void *context, const struct prepared_pool *pool), void *context);
/* A create asks for this: a prepared sandbox, now the caller's, or NULL. */
struct sandbox *pools_take(struct prepared_pools *p, const struct blueprint *wanted);
/* Called when the broker is idle: starts to prepare a sandbox; true when it started one. */
bool pools_refill(struct prepared_pools *p);
/* The template has changed: discards what was prepared from it. */
void pools_forget_template(struct prepared_pools *p, const char *template_name);
/* A sandbox of a pool has been set up. */
void pool_on_ready(struct sandbox *sandbox);
/* A sandbox of a pool could not be set up, or has died. */
void pool_on_failure(struct sandbox *sandbox, const struct error *err);

bool blueprint_equals(const struct blueprint *a, const struct blueprint *b);

/* pool_rules.c: pure */

/* How many sandboxes the pool should have at this time. */
unsigned pool_goal(const struct prepared_pool *pool, int64_t now_ms);
/* The part of a goal that is granted when all goals add up to `sum` and `max` are allowed. */
unsigned pool_share(unsigned goal, unsigned sum, unsigned max);
/* Notes a miss at this time. */
void pool_miss(struct prepared_pool *pool, int64_t now_ms);
/* Whether `pool` is refilled before `other`. Pools take turns: a project that empties its pool all
 * the time must not keep the pools of others from being filled. */
bool pool_goes_before(const struct prepared_pool *pool, const struct prepared_pool *other);
/* Whether a sandbox must be prepared now; else *ret_wait_ms says when to check again, 0: not before
 * something happens. */
bool pool_is_due(const struct prepared_pool *pool, unsigned goal, int64_t since_asked_ms,
                 int64_t *ret_wait_ms);
