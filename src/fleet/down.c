/* SPDX-License-Identifier: Apache-2.0 */
/* Every sandbox of this server is stopped, its files kept. */
#include "base/clock.h"
#include "base/log.h"
#include "fleet/parts.h"
#include "fleet/trash.h"

/* After the last call, and longer than the server may take to end. */
#define CLOSED_MS 60000

struct stopping {
	int64_t deadline;
	bool for_good;
	struct fleet_stopped counts;
};

static void stop_row(struct fleet *f, const struct sandbox_record *r, void *context)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(act_end) struct act act = {0};
	struct stopping *stopping = context;
	struct error err = {0};

	if (r->actual == SANDBOX_STOPPED || r->actual == SANDBOX_ARCHIVED ||
	    r->actual == SANDBOX_FAILED)
		return;
	/* Behind a closed gate it waits for its template, and cannot begin to run. */
	if (r->actual == SANDBOX_PENDING && stopping->for_good)
		return;
	if (clock_monotonic_ms() < stopping->deadline &&
	    act_begin(f, &arena, r->id, stopping->deadline, &act, &err) == 0 &&
	    (act.record.actual == SANDBOX_STARTED || act.record.actual == SANDBOX_PAUSED) &&
	    act_stop(&act, SANDBOX_REASON_USER, &err) == 0) {
		stopping->counts.stopped++;
		return;
	}
	if (err.code != ERROR_NONE)
		log_warning("a sandbox is not stopped", TEXT("sandbox", r->id), FAILURE(&err));
	stopping->counts.left++;
}

/* What may still be on its way to run, and has a row or not. */
static void end_what_comes(struct fleet *f, struct stopping *stopping)
{
	gate_close(&f->gate, f->config->drain_ms + CLOSED_MS);
	if (!gate_wait(&f->gate, stopping->deadline))
		stopping->counts.left += gate_inside(&f->gate);
	browsers_tidy(f, true);
}

int fleet_stop_all(struct fleet *fleet, const struct fleet_stop *how, struct fleet_stopped *ret,
                   struct error *err)
{
	struct stopping stopping = {.deadline = how->deadline, .for_good = how->for_good};

	if (how->for_good)
		end_what_comes(fleet, &stopping);
	if (each_sandbox(fleet, stop_row, &stopping, err) < 0)
		return -1;
	*ret = stopping.counts;
	return 0;
}
