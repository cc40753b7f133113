/* SPDX-License-Identifier: Apache-2.0 */
/* broker/prewarm/pool.h — the prewarmed sandboxes of this broker, and when to make more of them. */
#pragma once

#include "base/error.h"
#include "broker/host/event.h"
#include "broker/prewarm/prewarm.h"

#define MAKERS_MAX 2 /* of one kind at once */
#define MAKER_BATCH 4
#define GROUPS_KEPT_MAX 64

struct cleanup_item;
struct host;
struct slots;

struct prewarm_pool {
	struct host *host;
	struct events *events;
	struct slots *slots;
	struct list ready[PREWARM_KIND_COUNT];
	struct list dead;   /* died while they waited; discarded by the next refill */
	struct list makers; /* of both kinds */
	unsigned ready_count[PREWARM_KIND_COUNT];
	unsigned making_count[PREWARM_KIND_COUNT];
	unsigned maker_count[PREWARM_KIND_COUNT];
	unsigned wanted_more[PREWARM_KIND_COUNT]; /* beyond the option: what prepared pools lack */
	unsigned failures[PREWARM_KIND_COUNT];    /* in a row; too many stop the refill */
	struct timer rest;                        /* before a refill that is not urgent … */
	bool rested;                              /* … and it is over */
	/* The last request: the next one will probably be the same. */
	char likely_template[PREWARM_TEMPLATE_MAX];
	struct layer_stack likely_stack;
	struct cgroup_limits likely_limits; /* no memory: none yet */
	struct layer_stack asked_stack;     /* of the last create */
	uint64_t template_changes;
	/* Slots whose cgroups the cleaner has put aside for reuse, the oldest first, and those that
	 * come back from makers. Some of these cgroups may be missing, which does no harm. */
	uint32_t kept[GROUPS_KEPT_MAX + PREWARM_KIND_COUNT * MAKERS_MAX * MAKER_BATCH];
	unsigned kept_count;
	/* A prewarmed sandbox is ready, or `err` says why it is not. */
	void (*on_made)(void *context, enum prewarm_kind kind, const struct error *err);
	/* A prewarmed sandbox, or one of its mounts, must be cleaned up. The callee gets the
	 * descriptors. */
	void (*on_dead)(void *context, const struct cleanup_item *item);
	void *context;
};

void prewarm_pool_init(struct prewarm_pool *pool, struct host *host, struct events *events,
                       struct slots *slots);
/* Kills all prewarmed sandboxes and calls on_dead for each. */
void prewarm_pool_close(struct prewarm_pool *pool);
/* A ready one, now the caller's, or NULL. Prefers one that fits the guess, then one without a
 * root. */
struct prewarm *prewarm_pool_take(struct prewarm_pool *pool, enum prewarm_kind kind,
                                  const struct prewarm_guess *guess);
/* The next ones are made for this guess. */
void prewarm_pool_guess(struct prewarm_pool *pool, const struct prewarm_guess *guess);
/* Notes what a create asked for. It becomes the guess; one on snapshots only the second time in a
 * row. */
void prewarm_pool_note(struct prewarm_pool *pool, const struct prewarm_guess *asked);
/* A create is expected: mounts the root for it on one ready sandbox if none has it. `guess` NULL:
 * it is not known yet what will be asked for, so one sandbox loses its root instead. */
void prewarm_pool_prefetch_root(struct prewarm_pool *pool, enum prewarm_kind kind,
                                const struct prewarm_guess *guess);
/* Starts a maker for 1 to MAKER_BATCH sandboxes. */
MUST_CHECK int prewarm_pool_make(struct prewarm_pool *pool, enum prewarm_kind kind, unsigned count,
                                 struct error *err);
/* Starts makers for what is missing, as many as is good now; true when it started one. */
bool prewarm_pool_refill(struct prewarm_pool *pool);
/* The cgroup that is kept of this slot may be reused. */
void prewarm_pool_keep(struct prewarm_pool *pool, uint32_t slot);
/* The cleaner closes a mount, which waits for the disk. */
void prewarm_pool_let_go(struct prewarm_pool *pool, int mount_fd);
/* The template was made anew or removed: roots that were made of the old one are not used. */
void prewarm_pool_forget_template(struct prewarm_pool *pool, const char *name);
