/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"

#include "sandbox/events.h"
#include "store/events.h"
#include "store/running.h"
#include "store/sandboxes.h"

#define STEP RUNNING_STEP_MIN_MS

static void add(struct store *s, int64_t at, const char *sandbox, const char *kind)
{
	struct error err = {0};
	const struct event_record event = {.at = at,
	                                   .project_id = PROJECT,
	                                   .sandbox_id = sandbox,
	                                   .kind = kind,
	                                   .text = "added"};

	assert_done(store_event_add(s, &event, &err));
}

static struct running_history history_of(struct store *s, struct arena *a, int64_t from,
                                         int64_t until)
{
	const struct running_period period = {PROJECT, from, until};
	struct running_history found;
	struct error err = {0};

	assert_done(store_running_history(s, a, &period, &found, &err));
	return found;
}

/* "at+concurrent/starts" of each step, `at` in steps since NOW. */
static const char *told(struct store *s, struct arena *a, int64_t from, int64_t until)
{
	struct running_history h = history_of(s, a, from, until);
	const char *text = "";

	for (size_t i = 0; i < h.count; i++)
		text = arena_format(a, "%s%s%d:%d/%d", text, i ? " " : "",
		                    (int)((h.items[i].at - NOW) / h.step_ms),
		                    (int)h.items[i].concurrent, (int)h.items[i].starts);
	return text;
}

static void each_step_has_its_peak_and_its_starts(void **state)
{
	AUTO(arena_done) struct arena a = {0};

	add(*state, NOW, "a", "sandbox.created");
	add(*state, NOW + 1, "a", "sandbox.starting");
	add(*state, NOW + STEP, "a", "sandbox.started");
	add(*state, NOW + 2 * STEP, "b", "sandbox.started"); /* only within the step */
	add(*state, NOW + 2 * STEP + 1, "b", "sandbox.stopping");
	add(*state, NOW + 2 * STEP + 2, "b", "sandbox.stopped");
	add(*state, NOW + 3 * STEP, "a", "sandbox.paused");
	add(*state, NOW + 4 * STEP, "a", "sandbox.resumed");
	add(*state, NOW + 5 * STEP, "a", "sandbox.failed");
	assert_string_equal(told(*state, &a, NOW, NOW + 6 * STEP),
	                    "0:0/0 1:1/1 2:2/1 3:1/0 4:1/1 5:1/0 6:0/0");
	/* The time before the period counts, the time after it does not. */
	assert_string_equal(told(*state, &a, NOW + 3 * STEP, NOW + 4 * STEP), "3:1/0 4:1/1");
	assert_string_equal(told(*state, &a, NOW + 6 * STEP, NOW + 6 * STEP), "6:0/0");
	/* … also within the last step. */
	assert_string_equal(told(*state, &a, NOW + 2 * STEP, NOW + 2 * STEP), "2:2/1");
	assert_string_equal(told(*state, &a, NOW + STEP + 1, NOW + 2 * STEP - 1), "1:1/0");
}

static void other_projects_and_other_events_do_not_count(void **state)
{
	static const char *const kinds[] = {"sandbox.updated", "sandbox.unresponsive",
	                                    "lease.acquired"};
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct event_record other = {.at = NOW,
	                             .project_id = "another",
	                             .sandbox_id = "o",
	                             .kind = "sandbox.started",
	                             .text = "added"};
	struct id id = id_new();
	struct sandbox_record build = sample_sandbox(id.text, "build");

	build.traits = SANDBOX_IN_BACKGROUND;
	assert_done(store_event_add(*state, &other, &err));
	assert_done(store_sandbox_insert(*state, &build, 0, &err));
	add(*state, NOW, id.text, "sandbox.started");
	add(*state, NOW, "a", "sandbox.started");
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		add(*state, NOW + STEP, "a", kinds[i]);
	assert_string_equal(told(*state, &a, NOW, NOW + STEP), "0:1/1 1:1/0");
}

static void every_move_ends_a_run(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	int count = 0;

	for (int to = 0; to < SANDBOX_STATE_COUNT; to++) {
		enum event_kind kind = event_kind_of_move(SANDBOX_STARTED, (enum sandbox_state)to);
		const char *id = arena_format(&a, "box%d", to);

		if (!sandbox_state_can_move(SANDBOX_STARTED, (enum sandbox_state)to))
			continue;
		count++;
		add(*state, NOW, id, "sandbox.started");
		add(*state, NOW + STEP, id, event_kind_name(kind));
	}
	assert_true(count >= 5);
	assert_string_equal(told(*state, &a, NOW, NOW + 2 * STEP),
	                    arena_format(&a, "0:%d/%d 1:%d/0 2:0/0", count, count, count));
}

static void begin_to_run(struct store *s, const char *id, const char *name)
{
	struct error err = {0};
	struct sandbox_record r = sample_sandbox(id, name);
	struct sandbox_move move = sample_move(id, SANDBOX_PENDING, SANDBOX_CREATING);

	assert_done(store_sandbox_insert(s, &r, 0, &err));
	assert_done(store_sandbox_move(s, &move, &err));
	move = sample_move(id, SANDBOX_CREATING, SANDBOX_STARTED);
	assert_done(store_sandbox_move(s, &move, &err));
}

static void runs_whose_begin_was_purged_still_count(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id still = id_new(), paused = id_new();
	const struct event_retention keep = {NOW + STEP, 1000};
	bool more;

	begin_to_run(*state, still.text, "still");
	begin_to_run(*state, paused.text, "paused");
	add(*state, NOW + STEP, "a", "sandbox.starting");
	assert_done(store_event_purge(*state, &keep, &more, &err));
	add(*state, NOW + 2 * STEP, paused.text, "sandbox.paused");
	add(*state, NOW + 3 * STEP, "gone", "sandbox.stopped"); /* it may have been paused */
	/* They are not told to have begun, and the time before the events is not known. */
	assert_string_equal(told(*state, &a, 0, NOW + 3 * STEP), "1:2/0 2:2/0 3:1/0");
}

static void a_period_has_a_bounded_number_of_steps(void **state)
{
	static const struct {
		int64_t period_ms, step_ms;
	} cases[] = {
	        {0, STEP},
	        {INT64_C(3600000) - 1, STEP},
	        {INT64_C(3600000), 6000},
	        {INT64_C(7) * 86400000, 841000},
	        {INT64_C(3650) * 86400000, 438001000},
	};
	AUTO(arena_done) struct arena a = {0};

	assert_int_equal(history_of(*state, &a, 0, NOW).count, 0); /* no event yet */
	add(*state, NOW, "a", "sandbox.started");
	assert_int_equal(history_of(*state, &a, 0, NOW - 1).count, 0);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct running_history h = history_of(*state, &a, NOW, NOW + cases[i].period_ms);

		assert_int_equal(h.step_ms, cases[i].step_ms);
		assert_true(h.count > 0 && h.count <= RUNNING_STEPS_MAX);
		assert_int_equal(h.items[h.count - 1].concurrent, 1);
		assert_true(h.items[h.count - 1].at <= NOW + cases[i].period_ms);
		assert_true(h.items[h.count - 1].at + h.step_ms > NOW + cases[i].period_ms);
	}
}

static const struct CMUnitTest tests[] = {
        EACH(each_step_has_its_peak_and_its_starts),
        EACH(other_projects_and_other_events_do_not_count),
        EACH(every_move_ends_a_run),
        EACH(runs_whose_begin_was_purged_still_count),
        EACH(a_period_has_a_bounded_number_of_steps),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
