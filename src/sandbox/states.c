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
static const unsigned moves[] = {
        [SANDBOX_PENDING] = TO(CREATING) | TO(DELETING) | TO(FAILED),
        [SANDBOX_CREATING] = TO(STARTED) | TO(STOPPED) | TO(ARCHIVED) | TO(DELETING) | TO(FAILED),
        [SANDBOX_STARTED] = TO(PAUSED) | TO(STOPPING) | TO(STOPPED) | TO(DELETING) | TO(FAILED),
        [SANDBOX_PAUSED] = TO(STARTED) | TO(STOPPING) | TO(STOPPED) | TO(DELETING) | TO(FAILED),
        [SANDBOX_STOPPING] = TO(STARTED) | TO(STOPPED) | TO(DELETING) | TO(FAILED),
        [SANDBOX_STOPPED] = TO(CREATING) | TO(ARCHIVED) | TO(DELETING) | TO(FAILED),
        [SANDBOX_ARCHIVED] = TO(CREATING) | TO(DELETING) | TO(FAILED),
        [SANDBOX_DELETING] = TO(DELETED) | TO(FAILED),
        [SANDBOX_DELETED] = TO(STOPPED), /* restored from the trash */
        [SANDBOX_FAILED] = TO(DELETING),
};
_Static_assert(COUNT_OF(moves) == SANDBOX_STATE_COUNT, "a row per state");

const char *const sandbox_state_choices[] = {
        [SANDBOX_PENDING] = "pending",   [SANDBOX_CREATING] = "creating",
        [SANDBOX_STARTED] = "started",   [SANDBOX_PAUSED] = "paused",
        [SANDBOX_STOPPING] = "stopping", [SANDBOX_STOPPED] = "stopped",
        [SANDBOX_ARCHIVED] = "archived", [SANDBOX_DELETING] = "deleting",
        [SANDBOX_DELETED] = "deleted",   [SANDBOX_FAILED] = "failed",
        [SANDBOX_STATE_COUNT] = NULL,
};
_Static_assert(COUNT_OF(sandbox_state_choices) == SANDBOX_STATE_COUNT + 1, "a name per state");

const char *const sandbox_reason_choices[] = {
        [SANDBOX_REASON_COUNT] = NULL,          [SANDBOX_REASON_NONE] = "none",
        [SANDBOX_REASON_USER] = "user",         [SANDBOX_REASON_IDLE] = "idle",
        [SANDBOX_REASON_LIFETIME] = "lifetime", [SANDBOX_REASON_OOM] = "oom",
        [SANDBOX_REASON_EXIT] = "exit",         [SANDBOX_REASON_HOST_LOST] = "host_lost",
        [SANDBOX_REASON_ERROR] = "error",       [SANDBOX_REASON_BUDGET] = "budget",
        [SANDBOX_REASON_DISK] = "disk",
};
_Static_assert(COUNT_OF(sandbox_reason_choices) == SANDBOX_REASON_COUNT + 1, "a name per reason");

const char *sandbox_state_name(enum sandbox_state state)
{
	return (unsigned)state < SANDBOX_STATE_COUNT ? sandbox_state_choices[state] : "unknown";
}

int sandbox_state_parse(const char *name, enum sandbox_state *ret, struct error *err)
{
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++) {
		if (strcmp(name, sandbox_state_choices[i]) == 0) {
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
	return moves[from] & (1u << to);
}

const char *sandbox_reason_name(enum sandbox_reason reason)
{
	return (unsigned)reason < SANDBOX_REASON_COUNT ? sandbox_reason_choices[reason] : "unknown";
}

bool sandbox_is_asleep(enum sandbox_state state, enum sandbox_reason reason, unsigned traits)
{
	if (traits & SANDBOX_SLEEPS_SOUND)
		return false;
	return state == SANDBOX_PAUSED ||
	       (state == SANDBOX_STOPPED && reason == SANDBOX_REASON_IDLE);
}
