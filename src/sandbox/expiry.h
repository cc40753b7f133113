/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/expiry.h — when time pauses, stops, archives or deletes a sandbox. Pure. */
#pragma once

#include "sandbox/sandbox.h"
#include "sandbox/timeouts.h"

/* Times in unix ms; 0 = not set. */
struct sandbox_expiry {
	enum sandbox_state state; /* a resting state */
	unsigned traits;          /* enum sandbox_trait */
	bool persistent;
	bool busy; /* commands, terminals or streams use it */
	bool can_pause;
	bool can_stop;
	bool can_archive;
	int64_t created_at;
	int64_t started_at;
	int64_t last_activity_at;
	int64_t stopped_at;
	int64_t timeout_at;  /* the caller's timeout */
	int64_t awake_until; /* until then it does not count as idle */
	struct sandbox_timeouts timeouts;
};
enum sandbox_step {
	SANDBOX_STEP_NONE,
	SANDBOX_STEP_PAUSE,
	SANDBOX_STEP_STOP,
	SANDBOX_STEP_ARCHIVE,
	SANDBOX_STEP_DELETE,
};
struct sandbox_due {
	enum sandbox_step step;
	enum sandbox_reason reason;
};
/* The furthest step that is due at `now`. */
struct sandbox_due sandbox_expiry_due(const struct sandbox_expiry *e, int64_t now);
