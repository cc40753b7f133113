/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/sandbox.h"

#include <string.h>

#define TO(state) (1u << SANDBOX_##state)

/*   PENDING ──> CREATING ──> STARTED ──> STOPPING ──> STOPPED ──> CREATING (a start)
 *                              │ ↑           ↑
 *                              ↓ │           │
 *                             PAUSED ────────┘
 *
 * STOPPED <─> ARCHIVED; the way back leads through CREATING, and a failed start returns to
 * ARCHIVED.
 *
 * Every state but DELETED also leads to DELETING. STARTED or PAUSED -> STOPPED or FAILED is an end
 * that no caller requested. CREATING -> STOPPED is a failed start that kept the files, STOPPING ->
 * STARTED a failed stop, DELETING -> FAILED a delete that must be repeated. */
static const struct {
	const char *name;
	unsigned to;
} states[] = {
        [SANDBOX_PENDING] = {"pending", TO(CREATING) | TO(DELETING) | TO(FAILED)},
        [SANDBOX_CREATING] = {"creating",
                              TO(STARTED) | TO(STOPPED) | TO(ARCHIVED) | TO(DELETING) | TO(FAILED)},
        [SANDBOX_STARTED] = {"started",
                             TO(PAUSED) | TO(STOPPING) | TO(STOPPED) | TO(DELETING) | TO(FAILED)},
        [SANDBOX_PAUSED] = {"paused",
                            TO(STARTED) | TO(STOPPING) | TO(STOPPED) | TO(DELETING) | TO(FAILED)},
        [SANDBOX_STOPPING] = {"stopping", TO(STARTED) | TO(STOPPED) | TO(DELETING) | TO(FAILED)},
        [SANDBOX_STOPPED] = {"stopped", TO(CREATING) | TO(ARCHIVED) | TO(DELETING) | TO(FAILED)},
        [SANDBOX_ARCHIVED] = {"archived", TO(CREATING) | TO(DELETING) | TO(FAILED)},
        [SANDBOX_DELETING] = {"deleting", TO(DELETED) | TO(FAILED)},
        [SANDBOX_DELETED] = {"deleted", TO(STOPPED)}, /* restored from the trash */
        [SANDBOX_FAILED] = {"failed", TO(DELETING)},
};
_Static_assert(COUNT_OF(states) == SANDBOX_STATE_COUNT, "a row per state");

static const char *const reasons[] = {
        [SANDBOX_REASON_NONE] = "none",
        [SANDBOX_REASON_USER] = "user",
        [SANDBOX_REASON_IDLE] = "idle",
        [SANDBOX_REASON_LIFETIME] = "lifetime",
        [SANDBOX_REASON_OOM] = "oom",
        [SANDBOX_REASON_EXIT] = "exit",
        [SANDBOX_REASON_HOST_LOST] = "host_lost",
        [SANDBOX_REASON_ERROR] = "error",
        [SANDBOX_REASON_BUDGET] = "budget",
        [SANDBOX_REASON_DISK] = "disk",
};
_Static_assert(COUNT_OF(reasons) == SANDBOX_REASON_COUNT, "a name per reason");

const char *sandbox_state_name(enum sandbox_state state)
{
	return (unsigned)state < SANDBOX_STATE_COUNT ? states[state].name : "unknown";
}

int sandbox_state_parse(const char *name, enum sandbox_state *ret, struct error *err)
{
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++) {
		if (strcmp(name, states[i].name) == 0) {
			*ret = (enum sandbox_state)i;
			return 0;
		}
	}
	error_set(err, ERROR_INVALID, 0, HERE, "unknown state '%.40s'", name);
	return FAIL_HINT(
	        err, "pending, creating, started, paused, stopping, stopped, archived, deleting, "
	             "deleted or failed");
}

bool sandbox_state_can_move(enum sandbox_state from, enum sandbox_state to)
{
	if ((unsigned)from >= SANDBOX_STATE_COUNT || (unsigned)to >= SANDBOX_STATE_COUNT)
		return false;
	return states[from].to & (1u << to);
}

const char *sandbox_reason_name(enum sandbox_reason reason)
{
	return (unsigned)reason < SANDBOX_REASON_COUNT ? reasons[reason] : "unknown";
}

bool sandbox_is_asleep(enum sandbox_state state, enum sandbox_reason reason, unsigned traits)
{
	if (traits & SANDBOX_SLEEPS_SOUND)
		return false;
	return state == SANDBOX_PAUSED ||
	       (state == SANDBOX_STOPPED && reason == SANDBOX_REASON_IDLE);
}
