/* SPDX-License-Identifier: Apache-2.0 */
/* Every sandbox of this server is stopped, its files kept. */
#include "fleet/server/down.h"

#include "config/config.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/volume/browsers.h"

/* Longer than the server needs to end after the last call. */
#define CLOSED_MS 60000

struct stopping {
	int64_t deadline;
	bool for_good;
	bool waits; /* waits for other operations; only after all other sandboxes are stopped */
	struct fleet_stopped counts;
};

static void stop_row(struct fleet *f, const struct sandbox_record *r, void *context)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	struct stopping *stopping = context;
	int64_t now = clock_monotonic_ms();
	struct error err = {0};

	if (r->actual == SANDBOX_STOPPED || r->actual == SANDBOX_ARCHIVED ||
	    r->actual == SANDBOX_FAILED)
		return;
	/* With a closed gate it waits for its template and cannot begin to run. */
	if (r->actual == SANDBOX_PENDING && stopping->for_good)
		return;
	if (now < stopping->deadline &&
	    operation_begin(f, &arena, r->id, stopping->waits ? stopping->deadline : now, &op,
	                    &err) == 0 &&
	    sandbox_is_alive(&op.record) && lifecycle_stop(&op, SANDBOX_REASON_USER, &err) == 0) {
		stopping->counts.stopped++;
		return;
	}
	if (err.code != ERROR_NONE && stopping->waits)
		log_warning("a sandbox is not stopped", TEXT("sandbox", r->id), FAILURE(&err));
	stopping->counts.left++;
}

/* Stops sandboxes with an operation under way and, with `for_good`, sandboxes that began to run
 * meanwhile. An operation may take minutes if its sandbox does not answer; the others are stopped
 * by then. */
static int stop_rest(struct fleet *f, struct stopping *stopping, struct error *err)
{
	bool is_empty = !stopping->for_good || gate_wait(f->gate, stopping->deadline);

	if (stopping->for_good)
		browsers_tidy(f, true);
	stopping->waits = true;
	stopping->counts.left = 0;
	if (fleet_each_sandbox(f, stop_row, stopping, err) < 0)
		return -1;
	/* A call inside the gate may have a counted row, or none yet. */
	if (!is_empty && stopping->counts.left < gate_inside(f->gate))
		stopping->counts.left = gate_inside(f->gate);
	return 0;
}

int fleet_stop_all(struct fleet *fleet, const struct fleet_stop *how, struct fleet_stopped *ret,
                   struct error *err)
{
	struct stopping stopping = {.deadline = how->deadline, .for_good = how->for_good};

	if (how->for_good)
		gate_close(fleet->gate, fleet->config->drain_ms + CLOSED_MS);
	if (fleet_each_sandbox(fleet, stop_row, &stopping, err) < 0 ||
	    stop_rest(fleet, &stopping, err) < 0)
		return -1;
	*ret = stopping.counts;
	return 0;
}
