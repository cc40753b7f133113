/* SPDX-License-Identifier: Apache-2.0 */
/* broker/prewarmed sandbox.h — half-made sandboxes: everything that needs neither a name nor a
 * template, done before anybody asks. Private to this folder.
 *
 * A prewarmed sandbox is a slot with its cgroups, network namespace and user namespaces, empty
 * folders for the upper layer, a listening socket, and an agent in all its namespaces that waits on
 * its set-up socket. Cells are made by a child of the broker, the maker, because some of the
 * kernel's calls wait for milliseconds; it makes several, which spares forks. The agent is
 * nevertheless a child of the broker itself. A prewarmed sandbox does not outlive its broker: the
 * agent ends when the set-up socket closes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/list.h"
#include "broker/chains.h"
#include "broker/event.h"
#include "broker/host.h"
#include "broker/slots.h"

#define PREWARM_TEMPLATE_MAX 64
#define MAKERS_MAX 2 /* of one kind at once */
#define MAKER_BATCH 4
#define GROUPS_KEPT_MAX 64

/* What is left of a sandbox, or of a part of one, when its processes are dead or dying. Whoever is
 * the last to let go of a descriptor waits for the kernel to clear up behind it: the cleaner. */
struct cleanup_item {
	uint32_t slot; /* SLOT_NONE: it is still somebody's, or was none */
	int mounts_fd; /* a mount namespace, or a mount; -1: none */
	int net_fd;    /* its network namespace; -1: none */
};

enum prewarm_kind { PREWARM_BLOCKED, PREWARM_INTERNET, PREWARM_KIND_COUNT };

struct prewarm {
	struct list item;
	struct prewarm_pool *pool;
	enum prewarm_kind kind;
	uint32_t slot;
	uint32_t kept; /* whose group it is to have, until it is made; SLOT_NONE: a new one */
	pid_t pid;     /* of the agent; 0 while the maker is at work */
	uint64_t start_time;
	int pidfd, setup_fd;
	int ids_fd, stored_fd; /* user namespaces: the agent's, and the map of stored files */
	int mounts_fd, net_fd; /* the agent's namespaces; see sandbox.h */
	int root_fd;           /* the overlay over `root_template`, made on a guess, or -1 */
	char root_template[PREWARM_TEMPLATE_MAX];
	struct layer_stack root_stack;
	struct cgroup_limits limits; /* that it has already, on the same guess */
	uint64_t template_changes;   /* of the pool, when it was begun; it is stale after another */
	uint64_t made_us;
	int setup_far_fd; /* the agent's end, until the maker has it */
};

/* One child at work, seen from the broker; in the child, what it is to do. */
struct maker {
	struct list item;
	struct prewarm_pool *pool;
	struct broker_child child;
	struct fd_watch reports;
	int report_fd;
	enum prewarm_kind kind;
	struct prewarm *prewarms[MAKER_BATCH];
	unsigned count, done;
};

/* What a prewarmed sandbox is good for besides its kind. Borrowed. */
struct prewarm_guess {
	const char *template_name;
	const struct layer_stack *stack; /* NULL: none */
	const struct cgroup_limits *limits;
};

struct prewarm_pool {
	struct host *host;
	struct events *events;
	struct slots *slots;
	struct list ready[PREWARM_KIND_COUNT];
	struct list dead;   /* died while they waited; thrown away by the next refill */
	struct list makers; /* of both kinds */
	unsigned ready_count[PREWARM_KIND_COUNT], making_count[PREWARM_KIND_COUNT];
	unsigned maker_count[PREWARM_KIND_COUNT];
	unsigned wanted_more[PREWARM_KIND_COUNT]; /* than the options say: pools lack them */
	unsigned failures[PREWARM_KIND_COUNT];    /* in a row: no refill until somebody asks */
	struct timer rest;                        /* before a refill that is not urgent … */
	bool rested;                              /* … and it is over */
	/* What was asked for last: the next one will be for the same. */
	char likely_template[PREWARM_TEMPLATE_MAX];
	struct layer_stack likely_stack;    /* on it */
	struct cgroup_limits likely_limits; /* no memory = none yet */
	struct layer_stack asked_stack;     /* by the last create */
	uint64_t template_changes;
	/* Slots whose groups the cleaner has put aside, those that wait longest first; with those
	 * that come back from makers. Of some there is nothing, which does no harm. */
	uint32_t kept[GROUPS_KEPT_MAX + PREWARM_KIND_COUNT * MAKERS_MAX * MAKER_BATCH];
	unsigned kept_count;
	/* A prewarmed sandbox is there, or `err` says why not. */
	void (*on_made)(void *context, enum prewarm_kind kind, const struct error *err);
	/* A prewarmed sandbox is to be thrown away, or a mount of it. The descriptors are the
	 * callee's. */
	void (*on_dead)(void *context, const struct cleanup_item *item);
	void *context;
};

void prewarm_pool_init(struct prewarm_pool *pool, struct host *host, struct events *events,
                       struct slots *slots);
/* Kills all prewarmed sandboxes; on_dead is told of each. */
void prewarm_pool_close(struct prewarm_pool *pool);
/* A ready one, now the caller's, or NULL. One of this guess, if there is any, or without a root. */
struct prewarm *prewarm_pool_take(struct prewarm_pool *pool, enum prewarm_kind kind,
                                  const struct prewarm_guess *guess);
/* The next ones are made for this. */
void prewarm_pool_guess(struct prewarm_pool *pool, const struct prewarm_guess *guess);
/* Somebody asks for this, and so may the next: for a layer stack only when it is the second in a
 * row. */
void prewarm_pool_note(struct prewarm_pool *pool, const struct prewarm_guess *asked);
/* Somebody is about to: a ready prewarmed sandbox gets the root for it, should none have it. What
 * for is not known yet (NULL): one is to have none, since to put away a wrong one takes as long. */
void prewarm_pool_prefetch_root(struct prewarm_pool *pool, enum prewarm_kind kind,
                                const struct prewarm_guess *guess);
/* Begins to make some more: one at least, MAKER_BATCH at most. */
MUST_CHECK int prewarm_pool_make(struct prewarm_pool *pool, enum prewarm_kind kind, unsigned count,
                                 struct error *err);
/* Starts makers for prewarmed sandboxes that are missing, as many as is good now; true when it
 * started one. */
bool prewarm_pool_refill(struct prewarm_pool *pool);
/* A prewarmed sandbox to come may have the group that is kept of this slot. */
void prewarm_pool_keep(struct prewarm_pool *pool, uint32_t slot);
void prewarm_free(struct prewarm *prewarm);
/* The map of stored files for its sandbox's snapshots, the caller's from now on; or -1: with
 * thousands of sandboxes alive descriptors are scarce, and a snapshot makes it anew in 0.1 ms. */
int prewarm_take_stored(struct prewarm *prewarm);
bool prewarm_has_root(const struct prewarm *prewarm, const struct prewarm_guess *guess);
/* Of root_options. `context`: the pool. */
void prewarm_pool_let_go(void *context, int layer_fd);
/* The last one to let go of an overlay waits until all of the disk is in order: the cleaner. */
void prewarm_let_go_of_root(struct prewarm *prewarm);
/* The same, and others take the place of its folders: in use until the overlay has gone, they
 * cannot be another one's. */
MUST_CHECK int prewarm_drop_root(struct prewarm *prewarm, struct error *err);
/* The template was made anew or removed: what was made of the old one is not to be used. */
void prewarm_pool_forget_template(struct prewarm_pool *pool, const char *name);

/* In maker.c: the child's whole life; `context` is the maker. */
int maker_run(void *context);
/* What it sends of each prewarmed sandbox, with descriptors: pidfd, ids_fd, stored_fd, mounts_fd,
 * net_fd and, when it could be made, root_fd. */
struct maker_report {
	struct error err; /* ERROR_NONE = made */
	pid_t pid;
	uint64_t start_time;
	bool limited; /* as the prewarmed sandbox's `limits` say */
};
