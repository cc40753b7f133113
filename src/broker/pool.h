/* SPDX-License-Identifier: Apache-2.0 */
/* broker/pool.h — sandboxes that are set up before anybody asks for them. Private to this folder.
 *
 *      prewarmed sandbox ──► prepared: a sandbox in a pool, its whole plan applied, its agent
 * waiting for a claim │ a create of the same blueprint ▼ claimed: named, and in by_id like any
 * other
 *
 * A pool is for one blueprint: whatever is the same for two sandboxes that differ only in what a
 * claim says. Named pools are set by atolld, one for each template that has one; automatic ones
 * follow what is asked for. Nothing runs in a prepared one but its agent, and what that keeps warm.
 * Like a prewarmed sandbox it has no name on the disk, so that none outlives its broker.
 * pool_rules.c: how many there are to be. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "broker/box.h"

#define POOL_NAME_MAX 64
#define POOLS_MAX 256          /* named ones */
#define POOLS_AUTOMATIC_MAX 4  /* the one that was asked for longest ago makes room */
#define POOL_IDLE_MS 60000     /* not asked for so long: it shrinks to its minimum */
#define POOL_BURST_MS 10000    /* so long after a miss it is larger than its target */
#define POOL_FORGET_MS 3600000 /* an automatic one that nobody asked for so long is no more */
#define POOL_REST_MS 20        /* after a create, unless more than half is missing */
#define POOL_PREPARING_MAX 2   /* at once, over all pools */
#define POOL_RETRY_MS 60000    /* after failures: tried again without being asked */

struct blueprint {
	bool internet, privileges;
	char template_name[SANDBOX_TEMPLATE_MAX];
	struct cgroup_limits limits;
	uint64_t disk_bytes;
	struct layer_stack stack;
	char warm[POOL_NAME_MAX]; /* names what they keep warm; another's is nobody else's */
};

struct pool_size {
	unsigned min, target, max; /* 0 <= min <= target <= max */
};

struct prepared_pool {
	struct list item;
	struct prepared_pools *pools;
	char name[POOL_NAME_MAX]; /* a template's id; "" = automatic */
	struct blueprint blueprint;
	struct pool_size size;
	struct buf warm_wish;         /* what their agents are told, or nothing */
	struct list ready, preparing; /* struct sandbox */
	unsigned ready_count, preparing_count;
	int64_t asked_ms, missed_ms; /* the last time; 0 = never */
	unsigned burst;              /* misses of which each came soon after the one before */
	unsigned failures;           /* in a row: no refill until a create asks, or later */
	unsigned failed;             /* since the last that was prepared */
	struct error problem;        /* the last of these failures */
	int64_t failed_ms;
	uint64_t hits, misses;
	uint64_t refill; /* the number of the last refill that it got; 0 = none */
};

struct prepared_pools {
	struct sandboxes *sandboxes;
	struct list all;    /* those asked for last come first */
	struct list ending; /* sandboxes that were prepared for nothing, and die */
	unsigned automatic; /* size of each automatic one, 0 = there are none */
	unsigned max;       /* prepared ones at once */
	unsigned named_count, automatic_count;
	struct blueprint last; /* asked for without a pool */
	bool has_last;
	int64_t asked_ms;        /* anything at all */
	uint64_t refills;        /* begun so far */
	struct timer rest, look; /* until a refill that is not urgent; until some are too many */
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
/* Somebody asks for one: a prepared sandbox, now the caller's, or NULL. */
struct sandbox *pools_take(struct prepared_pools *p, const struct blueprint *wanted);
/* When there is nothing else to do: begins to prepare some; true when it did something. */
bool pools_refill(struct prepared_pools *p);
/* What was prepared from it is not to be used. */
void pools_forget_template(struct prepared_pools *p, const char *template_name);
/* The sandbox has been set up, or has failed, or has died before or after. */
void pool_on_ready(struct sandbox *sandbox);
void pool_on_failure(struct sandbox *sandbox, const struct error *err);

bool blueprint_equals(const struct blueprint *a, const struct blueprint *b);

/* ---- pool_rules.c: pure ---- */

/* How many a pool would like to have at this time. */
unsigned pool_goal(const struct prepared_pool *pool, int64_t now_ms);
/* What is granted of a goal when all goals come to `sum` and `max` may be. */
unsigned pool_share(unsigned goal, unsigned sum, unsigned max);
/* Notes a miss at this time. */
void pool_miss(struct prepared_pool *pool, int64_t now_ms);
/* Of two pools that are due, whether the first comes before the second: they take turns, or a
 * project that empties its pool without end would keep those of others from being filled. */
bool pool_goes_before(const struct prepared_pool *pool, const struct prepared_pool *other);
/* Whether the next one is to be prepared now; else *ret_wait_ms says when to look again, 0 = not
 * before something happens. */
bool pool_is_due(const struct prepared_pool *pool, unsigned goal, int64_t since_asked_ms,
                 int64_t *ret_wait_ms);
