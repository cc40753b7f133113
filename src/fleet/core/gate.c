/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/gate.h"

#include <assert.h>
#include <poll.h>

#include "base/clock.h"

#define LOOK_MS 10

/* Counts first and checks second; gate_close closes first and counts second, so that one of the two
 * sees the other. */
static bool is_closed(const struct gate *gate)
{
	int64_t until_ms = atomic_load(&gate->closed_until_ms);

	return until_ms != 0 && clock_monotonic_ms() < until_ms;
}

struct gate *gate_enter(struct gate *gate, struct error *err)
{
	atomic_fetch_add(&gate->inside, 1);
	if (!is_closed(gate))
		return gate;
	gate_leave(gate);
	(void)FAIL(err, ERROR_UNAVAILABLE, "the server is about to end: no sandbox is started");
	error_hint(err,
	           "'atoll down' ends every sandbox and the server; try again when it runs again");
	return NULL;
}

void gate_leave(struct gate *gate)
{
	unsigned inside = atomic_fetch_sub(&gate->inside, 1);

	assert(inside > 0);
}

void gate_leave_auto(struct gate **gate)
{
	if (*gate)
		gate_leave(*gate);
}

void gate_close(struct gate *gate, int64_t for_ms)
{
	atomic_store(&gate->closed_until_ms, clock_monotonic_ms() + for_ms);
}

unsigned gate_inside(const struct gate *gate)
{
	return atomic_load(&gate->inside);
}

bool gate_wait(const struct gate *gate, int64_t deadline)
{
	while (gate_inside(gate) > 0) {
		if (clock_monotonic_ms() >= deadline)
			return false;
		(void)poll(NULL, 0, LOOK_MS);
	}
	return true;
}
