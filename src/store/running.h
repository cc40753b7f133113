/* SPDX-License-Identifier: Apache-2.0 */
/* store/running.h — how many sandboxes of a project ran, and how many began to run, over time.
 *
 * The events of their states (events.h) tell it, so it reaches back as far as events are kept. A
 * resumed sandbox begins to run, too; sandboxes of builds do not count. A sandbox whose begin is
 * no longer among the events counts from the first instant, if it still runs, or if its first event
 * is a pause or a stop. At most the newest RUNNING_EVENTS_MAX events of the server are read, in one
 * query: for slow workers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct store;

#define RUNNING_EVENTS_MAX 500000
#define RUNNING_STEPS_MAX 720
#define RUNNING_STEP_MIN_MS 5000

/* Unix ms, from <= until. */
struct running_period {
	const char *project_id;
	int64_t from, until;
};
struct running_sample {
	int64_t at;         /* unix ms, of the step's begin */
	int64_t concurrent; /* the most at one time within the step */
	int64_t starts;     /* within the step */
};
struct running_history {
	struct running_sample *items; /* a sample for each step, oldest first */
	size_t count;    /* at most RUNNING_STEPS_MAX; 0 without events in the period */
	int64_t step_ms; /* at least RUNNING_STEP_MIN_MS, whole seconds */
};
/* The period begins with the oldest event of the server, if that is later than `from`. */
MUST_CHECK int store_running_history(struct store *s, struct arena *a,
                                     const struct running_period *period,
                                     struct running_history *ret, struct error *err);
