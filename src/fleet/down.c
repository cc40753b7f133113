/* SPDX-License-Identifier: Apache-2.0 */
/* Every sandbox of this server is stopped, its files kept. */
#include "base/clock.h"
#include "base/log.h"
#include "fleet/parts.h"
#include "fleet/trash.h"

struct stopping {
	int64_t deadline;
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

int fleet_stop_all(struct fleet *fleet, int64_t deadline, struct fleet_stopped *ret,
                   struct error *err)
{
	struct stopping stopping = {.deadline = deadline};

	if (each_sandbox(fleet, stop_row, &stopping, err) < 0)
		return -1;
	*ret = stopping.counts;
	return 0;
}
