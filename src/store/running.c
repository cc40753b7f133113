/* SPDX-License-Identifier: Apache-2.0 */
#include "store/running.h"

#include "base/bytes.h"
#include "sandbox/sandbox.h"
#include "store/column_rows.h"
#include "store/events.h"
#include "store/query.h"

struct running_search {
	const char *project_id;
	int64_t from, until, step_ms, step_count, after, hidden_traits;
};
struct running_step {
	int64_t step, change, running, starts, unseen;
};
struct running_steps {
	const struct running_step *items;
	size_t count;
};

COLUMNS_OF(running_search);
COLUMNS_OF(running_step);

#define SECOND_MS 1000

/* Whole seconds, so that at most RUNNING_STEPS_MAX steps cover the period. */
static int64_t step_of(int64_t period_ms)
{
	int64_t step_ms = (period_ms / RUNNING_STEPS_MAX / SECOND_MS + 1) * SECOND_MS;

	return step_ms < RUNNING_STEP_MIN_MS ? RUNNING_STEP_MIN_MS : step_ms;
}

/* `now_running` is the number before the first event. */
static void fill_history(struct running_history *ret, int64_t from, int64_t now_running,
                         const struct running_steps *steps)
{
	const int64_t at_first = now_running;
	size_t next = 0;

	for (; next < steps->count && steps->items[next].step < 0; next++)
		now_running += steps->items[next].change;
	for (size_t i = 0; i < ret->count; i++) {
		struct running_sample *sample = &ret->items[i];

		*sample = (struct running_sample){.at = from + (int64_t)i * ret->step_ms,
		                                  .concurrent = now_running};
		if (next == steps->count || steps->items[next].step != (int64_t)i)
			continue;
		if (at_first + steps->items[next].running > now_running)
			sample->concurrent = at_first + steps->items[next].running;
		sample->starts = steps->items[next].starts;
		now_running += steps->items[next++].change;
	}
}

int store_running_history(struct store *s, struct arena *a, const struct running_period *period,
                          struct running_history *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct running_history made = {.items = NULL};
	struct event_bounds bounds;
	struct running_search search = {.project_id = period->project_id,
	                                .until = period->until,
	                                .hidden_traits = SANDBOX_IN_BACKGROUND};
	struct running_steps steps;
	struct row_count throughout;

	if (store_event_bounds(s, &bounds, err) < 0)
		return -1;
	search.from = period->from > bounds.oldest_at ? period->from : bounds.oldest_at;
	made.step_ms = step_of(period->until - search.from);
	search.step_ms = made.step_ms;
	search.after = bounds.newest - RUNNING_EVENTS_MAX;
	if (bounds.newest > 0 && search.from <= period->until)
		made.count = (size_t)((period->until - search.from) / made.step_ms + 1);
	search.step_count = (int64_t)made.count;
	if (store_list_query(s, QUERY_RUNNING_STEPS, &search, LIST_INTO(&arena, &steps), err) < 0 ||
	    store_find_query(s, QUERY_RUNNING_THROUGHOUT, &search, INTO(&arena, &throughout), err) <
	            0)
		return -1;
	for (size_t i = 0; i < steps.count; i++)
		throughout.count += steps.items[i].unseen;
	made.items = ARENA_ARRAY(a, struct running_sample, made.count);
	fill_history(&made, search.from, throughout.count, &steps);
	*ret = made;
	return 0;
}
