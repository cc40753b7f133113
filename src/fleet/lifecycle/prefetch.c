/* SPDX-License-Identifier: Apache-2.0 */
/* Work for the first command of a sandbox, while the answer to its create is on its way. */
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "fleet/core/cache.h"
#include "fleet/core/defaults.h"
#include "fleet/lifecycle/moves.h"
#include "provider/compute.h"
#include "worker/worker.h"

void defaults_prefetch(struct fleet *f, struct arena *a, const struct sandbox_record *r)
{
	struct fleet_defaults defaults;
	struct error ignored = {0}; /* the command will report it */

	(void)!fleet_defaults(f, a, r, NULL, &defaults, &ignored);
}

/* Prefetches what the first command needs while the answer is on its way. */
struct command_prefetch {
	struct worker_task task;
	struct fleet *fleet;
	struct provider *provider;
	char id[ID_SIZE + 1];
};

static void run_prefetch(struct worker_task *task)
{
	struct command_prefetch *e = CONTAINER_OF(task, struct command_prefetch, task);
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record r;

	if (cache_hold(e->fleet->cache, &arena, NULL, e->id, &r)) {
		defaults_prefetch(e->fleet, &arena, &r);
		compute_preconnect(e->provider, e->id);
		cache_unhold(e->fleet->cache, e->id);
	}
	free(e);
}

void lifecycle_prefetch(const struct operation *op)
{
	struct command_prefetch *e = memory_new(sizeof(*e));

	*e = (struct command_prefetch){
	        .task = {.run = run_prefetch}, .fleet = op->fleet, .provider = op->provider};
	memcpy(e->id, op->record.id, ID_SIZE);
	worker_afterwards(&e->task);
}
