/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/template/pool_states.h — pools of this server as of the last tick: counts, and the
 * pools that cannot be filled. */
#pragma once

#include <pthread.h>

#include "fleet/template/pools.h"

struct fleet;
struct template_list;

#define POOL_COUNTS_MAX 256 /* in the metrics */

struct pool_counts {
	pthread_mutex_t mutex; /* held while store and provider are brought to agreement */
	struct fleet_pool_count items[POOL_COUNTS_MAX];
	struct pool_state *states;
	size_t count, state_count;
};
struct pool_state {
	char template_id[ID_SIZE + 1], template_name[64];
	bool is_shared;
	bool is_failing; /* each change of it is an event */
	struct error problem;
};
/* The caller holds pool_counts.mutex. `now` replaces the states before. */
void pool_states_replace(struct fleet *f, const struct template_list *templates,
                         const struct pool_state *now, size_t count);
const struct pool_state *pool_state_find(const struct fleet *f, const char *template_id);

/* Reconciles the pools after a change; logs a failure, because the tick tries again. */
void pools_changed(struct fleet *f);
/* Makes the provider hold the pools that the templates ask for. Any worker. */
MUST_CHECK int pools_reconcile(struct fleet *f, struct error *err);
