/* SPDX-License-Identifier: Apache-2.0 */
/* broker/prewarm/prewarm.h — a prewarmed sandbox: everything that needs neither a name nor a
 * template, made before a create asks for it.
 *
 * It is a slot with its cgroups, network namespace and user namespaces, empty folders for the upper
 * layer, a listening socket, and an agent in all its namespaces that waits on its set-up socket. A
 * child of the broker, the maker (maker.h), makes several of them, because some of the kernel's
 * calls wait for milliseconds. The agent is a child of the broker itself. A prewarmed sandbox ends
 * with its broker: the agent exits when the set-up socket closes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/list.h"
#include "broker/layers/root.h"
#include "broker/layers/stack.h"
#include "isolation/cgroups.h"

#define PREWARM_TEMPLATE_MAX 64

struct prewarm_pool;

/* What a prewarmed sandbox can become: without or with internet. */
enum prewarm_kind { PREWARM_BLOCKED, PREWARM_INTERNET, PREWARM_KIND_COUNT };

struct prewarm {
	struct list item;
	struct prewarm_pool *pool;
	enum prewarm_kind kind;
	uint32_t slot;
	uint32_t kept; /* slot whose old cgroup it reuses, until it is made; SLOT_NONE: a new one */
	pid_t pid;     /* of the agent; 0 while the maker is at work */
	uint64_t start_time;
	int pidfd;
	int setup_fd;
	int setup_far_fd;        /* the agent's end, until the maker has it */
	int ids_fd;              /* the agent's user namespace */
	int stored_fd;           /* the user namespace that maps stored files */
	int mounts_fd;           /* the agent's mount namespace; see struct sandbox */
	int net_fd;              /* the agent's network namespace */
	struct root_mounts root; /* made on a guess, or none */
	char root_template[PREWARM_TEMPLATE_MAX]; /* of that overlay */
	struct layer_stack root_stack;            /* of that overlay */
	struct cgroup_limits limits;              /* in force already, on the same guess */
	uint64_t template_changes;                /* of the pool, when this was begun */
	uint64_t made_us;
};

/* The expected next create. Borrowed. */
struct prewarm_guess {
	const char *template_name;
	const struct layer_stack *stack; /* NULL: none */
	const struct cgroup_limits *limits;
};

/* Closes its descriptors and frees the record. NULL is fine. */
void prewarm_free(struct prewarm *prewarm);
/* The map of stored files, for snapshots of the sandbox; the caller's from now on. -1 when
 * descriptors are scarce: then a snapshot makes the map anew, in 0.1 ms. */
int prewarm_take_stored(struct prewarm *prewarm);

/* the root: an overlay that is made before a create */

/* Whether the root is what the guess says. */
bool prewarm_has_root(const struct prewarm *prewarm, const struct prewarm_guess *guess);
/* Hands the root to the cleaner: the last process to close an overlay waits until the kernel has
 * written the disk. */
void prewarm_let_go_of_root(struct prewarm *prewarm);
/* The same, and replaces the folders: overlayfs uses the old ones until the overlay has gone. */
MUST_CHECK int prewarm_drop_root(struct prewarm *prewarm, struct error *err);
