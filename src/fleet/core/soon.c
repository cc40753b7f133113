/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/soon.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "fleet/core/fleet_state.h"
#include "worker/worker.h"

struct soon {
	struct worker_task task;
	struct fleet *fleet;
	void (*run)(struct fleet *f);
};

static void run_soon(struct worker_task *task)
{
	const struct soon work = *CONTAINER_OF(task, struct soon, task);

	free(CONTAINER_OF(task, struct soon, task));
	work.run(work.fleet);
}

void fleet_run_soon(struct fleet *f, void (*run)(struct fleet *f))
{
	struct soon *work = memory_new(sizeof(*work));
	struct error err = {0};

	*work = (struct soon){{.lane = WORKER_SLOW, .run = run_soon}, f, run};
	if (worker_submit(f->workers, &work->task, &err) < 0)
		free(work);
}
