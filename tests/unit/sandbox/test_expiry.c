/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "sandbox/expiry.h"

#define NOW 1000000

#define NOTHING                                                                                    \
	{                                                                                          \
		SANDBOX_STEP_NONE, SANDBOX_REASON_NONE                                             \
	}
#define DUE(step, reason)                                                                          \
	{                                                                                          \
		SANDBOX_STEP_##step, SANDBOX_REASON_##reason                                       \
	}
#define ABLE .can_pause = true, .can_stop = true
#define STARTED .state = SANDBOX_STARTED, ABLE
#define PAUSED .state = SANDBOX_PAUSED, ABLE
#define STOPPED .state = SANDBOX_STOPPED, ABLE

struct expiry_case {
	const char *what;
	struct sandbox_expiry expiry;
	struct sandbox_due due;
};

static void check(const struct expiry_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct sandbox_due due = sandbox_expiry_due(&cases[i].expiry, NOW);

		if (due.step != cases[i].due.step || due.reason != cases[i].due.reason)
			fail_msg("%s: step %d, reason %d", cases[i].what, (int)due.step,
			         (int)due.reason);
	}
}

static const struct expiry_case reaping[] = {
        {"nothing set", {STARTED, .created_at = 1}, NOTHING},
        {"idle for less",
         {STARTED, .created_at = 1, .last_activity_at = NOW - 99, .timeouts.idle_reap_ms = 100},
         NOTHING},
        {"idle for as long",
         {STARTED, .created_at = 1, .last_activity_at = NOW - 100, .timeouts.idle_reap_ms = 100},
         DUE(DELETE, IDLE)},
        {"never used",
         {STARTED, .created_at = NOW - 100, .timeouts.idle_reap_ms = 100},
         DUE(DELETE, IDLE)},
        {"never used, new",
         {STARTED, .created_at = NOW - 99, .timeouts.idle_reap_ms = 100},
         NOTHING},
        {"paused", {PAUSED, .created_at = 1, .timeouts.idle_reap_ms = 100}, DUE(DELETE, IDLE)},
        {"stopped", {STOPPED, .created_at = 1, .timeouts.idle_reap_ms = 100}, DUE(DELETE, IDLE)},
        {"failed",
         {.state = SANDBOX_FAILED, .created_at = 1, .timeouts.idle_reap_ms = 100},
         DUE(DELETE, IDLE)},
        {"idle but busy",
         {STARTED, .created_at = 1, .last_activity_at = 1, .timeouts.idle_reap_ms = 100,
          .busy = true},
         NOTHING},
        {"idle but persistent",
         {STARTED, .created_at = 1, .timeouts.idle_reap_ms = 100, .persistent = true},
         NOTHING},
        {"idle but kept awake",
         {STARTED, .created_at = 1, .timeouts.idle_reap_ms = 100, .awake_until = NOW + 1},
         NOTHING},
        {"no longer kept awake",
         {STARTED, .created_at = 1, .timeouts.idle_reap_ms = 100, .awake_until = NOW},
         DUE(DELETE, IDLE)},
        {"endless durations",
         {STARTED, .created_at = 1, .timeouts.idle_reap_ms = INT64_MAX,
          .timeouts.lifetime_max_ms = INT64_MAX},
         NOTHING},
        {"activity in the future",
         {STARTED, .created_at = 1, .last_activity_at = NOW + 500, .timeouts.idle_reap_ms = 1},
         NOTHING},
};

TEST(an_ephemeral_sandbox_is_deleted_when_nobody_used_it_for_long)
{
	check(reaping, COUNT_OF(reaping));
}

static const struct expiry_case ageing[] = {
        {"lifetime",
         {STARTED, .created_at = NOW - 10, .timeouts.lifetime_max_ms = 10},
         DUE(DELETE, LIFETIME)},
        {"lifetime, busy and kept awake",
         {STARTED, .created_at = NOW - 10, .timeouts.lifetime_max_ms = 10, .busy = true,
          .awake_until = NOW + 1},
         DUE(DELETE, LIFETIME)},
        {"lifetime not over",
         {STARTED, .created_at = NOW - 9, .timeouts.lifetime_max_ms = 10},
         NOTHING},
        {"lifetime of a persistent one",
         {STARTED, .created_at = NOW - 10, .timeouts.lifetime_max_ms = 10, .persistent = true},
         DUE(STOP, LIFETIME)},
        {"of a persistent one that was started since",
         {STARTED, .created_at = 1, .started_at = NOW - 9, .timeouts.lifetime_max_ms = 10,
          .persistent = true},
         NOTHING},
        {"of a persistent one that was started as long ago",
         {STARTED, .created_at = 1, .started_at = NOW - 10, .timeouts.lifetime_max_ms = 10,
          .persistent = true},
         DUE(STOP, LIFETIME)},
        {"of another one that was started since",
         {STARTED, .created_at = NOW - 10, .started_at = NOW - 1, .timeouts.lifetime_max_ms = 10},
         DUE(DELETE, LIFETIME)},
        {"of a paused persistent one",
         {PAUSED, .created_at = NOW - 10, .timeouts.lifetime_max_ms = 10, .persistent = true},
         DUE(STOP, LIFETIME)},
        {"of one that rests already",
         {STOPPED, .created_at = NOW - 10, .timeouts.lifetime_max_ms = 10, .persistent = true},
         NOTHING},
        {"of one that cannot be stopped",
         {.state = SANDBOX_STARTED,
          .created_at = NOW - 10,
          .timeouts.lifetime_max_ms = 10,
          .persistent = true},
         NOTHING},
        {"timeout",
         {STARTED, .created_at = NOW - 9, .timeout_at = NOW, .busy = true},
         DUE(DELETE, LIFETIME)},
        {"timeout not reached", {STARTED, .created_at = NOW - 9, .timeout_at = NOW + 1}, NOTHING},
};

TEST(what_its_caller_limited_ends_busy_or_not)
{
	check(ageing, COUNT_OF(ageing));
}

#define IDLE_FOR(ms) .created_at = 1, .last_activity_at = NOW - (ms)
static const struct expiry_case resting[] = {
        {"not yet", {STARTED, IDLE_FOR(99), .timeouts.idle_pause_ms = 100}, NOTHING},
        {"pause", {STARTED, IDLE_FOR(100), .timeouts.idle_pause_ms = 100}, DUE(PAUSE, IDLE)},
        {"pause of a persistent one",
         {STARTED, IDLE_FOR(100), .timeouts.idle_pause_ms = 100, .persistent = true},
         DUE(PAUSE, IDLE)},
        {"paused already", {PAUSED, IDLE_FOR(100), .timeouts.idle_pause_ms = 100}, NOTHING},
        {"busy", {STARTED, IDLE_FOR(100), .timeouts.idle_pause_ms = 100, .busy = true}, NOTHING},
        {"kept awake",
         {STARTED, IDLE_FOR(100), .timeouts.idle_pause_ms = 100, .awake_until = NOW + 1},
         NOTHING},
        {"cannot be paused",
         {.state = SANDBOX_STARTED, IDLE_FOR(100), .timeouts.idle_pause_ms = 100},
         NOTHING},
        {"stop, not pause",
         {STARTED, IDLE_FOR(100), .timeouts.idle_pause_ms = 10, .timeouts.idle_stop_ms = 100},
         DUE(STOP, IDLE)},
        {"stop of a paused one",
         {PAUSED, IDLE_FOR(100), .timeouts.idle_pause_ms = 10, .timeouts.idle_stop_ms = 100,
          .persistent = true},
         DUE(STOP, IDLE)},
        {"cannot be stopped",
         {.state = SANDBOX_PAUSED, IDLE_FOR(100), .timeouts.idle_stop_ms = 100, .can_pause = true},
         NOTHING},
        {"stopped already", {STOPPED, IDLE_FOR(100), .timeouts.idle_stop_ms = 100}, NOTHING},
        {"delete, not stop",
         {STARTED, IDLE_FOR(100), .timeouts.idle_stop_ms = 10, .timeouts.idle_reap_ms = 100},
         DUE(DELETE, IDLE)},
        {"a failed one rests",
         {.state = SANDBOX_FAILED,
          ABLE,
          IDLE_FOR(100),
          .timeouts.idle_pause_ms = 1,
          .timeouts.idle_stop_ms = 1},
         NOTHING},
};

TEST(an_idle_sandbox_is_paused_and_then_stopped)
{
	check(resting, COUNT_OF(resting));
}

static const struct expiry_case deleting[] = {
        {"stopped for less",
         {STOPPED, .stopped_at = NOW - 99, .timeouts.delete_after_ms = 100},
         NOTHING},
        {"stopped for as long, persistent",
         {STOPPED, .stopped_at = NOW - 100, .timeouts.delete_after_ms = 100, .persistent = true},
         DUE(DELETE, IDLE)},
        {"started again",
         {STARTED, .stopped_at = NOW - 100, .timeouts.delete_after_ms = 100, .created_at = NOW},
         NOTHING},
        {"kept",
         {STOPPED, .stopped_at = NOW - 100, .timeouts.delete_after_ms = 100,
          .awake_until = NOW + 1},
         NOTHING},
};

static const struct expiry_case archiving[] = {
        {"stopped for less",
         {STOPPED, .stopped_at = NOW - 99, .timeouts.archive_after_ms = 100, .can_archive = true},
         NOTHING},
        {"stopped for as long",
         {STOPPED, .stopped_at = NOW - 100, .timeouts.archive_after_ms = 100, .can_archive = true},
         DUE(ARCHIVE, IDLE)},
        {"nowhere to archive to",
         {STOPPED, .stopped_at = NOW - 100, .timeouts.archive_after_ms = 100},
         NOTHING},
        {"archived already",
         {SANDBOX_ARCHIVED, .stopped_at = NOW - 100, .timeouts.archive_after_ms = 100,
          .can_archive = true},
         NOTHING},
        {"archived, and to be deleted",
         {SANDBOX_ARCHIVED, .stopped_at = NOW - 200, .timeouts.delete_after_ms = 200},
         DUE(DELETE, IDLE)},
        {"both are due",
         {STOPPED, .stopped_at = NOW - 200, .timeouts.archive_after_ms = 100,
          .timeouts.delete_after_ms = 200, .can_archive = true},
         DUE(DELETE, IDLE)},
        {"started again",
         {STARTED, .stopped_at = NOW - 100, .timeouts.archive_after_ms = 100, .can_archive = true,
          .created_at = NOW},
         NOTHING},
};

TEST(one_that_was_stopped_is_archived_when_its_creator_has_said_so)
{
	check(archiving, COUNT_OF(archiving));
}

TEST(one_that_was_stopped_is_deleted_when_its_creator_has_said_so)
{
	check(deleting, COUNT_OF(deleting));
}

TEST(only_what_is_paused_or_was_stopped_for_idleness_is_asleep)
{
	assert_true(sandbox_is_asleep(SANDBOX_PAUSED, SANDBOX_REASON_USER, 0));
	assert_true(sandbox_is_asleep(SANDBOX_PAUSED, SANDBOX_REASON_IDLE, 0));
	assert_true(sandbox_is_asleep(SANDBOX_STOPPED, SANDBOX_REASON_IDLE, 0));
	assert_false(sandbox_is_asleep(SANDBOX_STOPPED, SANDBOX_REASON_USER, 0));
	assert_false(sandbox_is_asleep(SANDBOX_STOPPED, SANDBOX_REASON_LIFETIME, 0));
	assert_false(sandbox_is_asleep(SANDBOX_STOPPED, SANDBOX_REASON_BUDGET, 0));
	assert_false(sandbox_is_asleep(SANDBOX_STARTED, SANDBOX_REASON_IDLE, 0));
	assert_false(sandbox_is_asleep(SANDBOX_DELETING, SANDBOX_REASON_IDLE, 0));
}

TEST(the_first_layer_that_sets_a_timeout_wins)
{
	const struct sandbox_timeouts request = {.idle_reap_ms = 30, .archive_after_ms = 3};
	const struct sandbox_timeouts of_template = {.idle_pause_ms = -1, .idle_reap_ms = 40};
	const struct sandbox_timeouts of_project = {
	        .idle_pause_ms = 10, .idle_stop_ms = 20, .idle_reap_ms = 50, .delete_after_ms = 5};
	const struct sandbox_timeouts of_server = {
	        .idle_pause_ms = 11, .idle_stop_ms = 21, .idle_reap_ms = 51, .lifetime_max_ms = 61};
	const struct sandbox_timeouts *const layers[] = {&request, &of_template, &of_project,
	                                                 &of_server};
	const struct sandbox_timeouts resolved = sandbox_timeouts_resolve(layers, COUNT_OF(layers));

	assert_int_equal(resolved.idle_pause_ms, 0); /* never, of the template */
	assert_int_equal(resolved.idle_stop_ms, 20);
	assert_int_equal(resolved.idle_reap_ms, 30);
	assert_int_equal(resolved.lifetime_max_ms, 61);
	assert_int_equal(resolved.archive_after_ms, 3);
	assert_int_equal(resolved.delete_after_ms, 0); /* not inherited */
	assert_int_equal(sandbox_timeouts_resolve(layers, 0).idle_reap_ms, 0);
}

TEST(a_change_leaves_what_it_does_not_name)
{
	const struct sandbox_timeouts before = {
	        .idle_pause_ms = 10, .idle_stop_ms = 20, .idle_reap_ms = 50, .archive_after_ms = 4};
	struct sandbox_timeouts change = SANDBOX_TIMEOUTS_LEAVE, changed = before;

	sandbox_timeouts_change(&changed, &change);
	assert_memory_equal(&changed, &before, sizeof(before));
	change.idle_stop_ms = 0;
	change.archive_after_ms = 9;
	sandbox_timeouts_change(&changed, &change);
	assert_int_equal(changed.idle_pause_ms, 10);
	assert_int_equal(changed.idle_stop_ms, 0);
	assert_int_equal(changed.idle_reap_ms, 50);
	assert_int_equal(changed.archive_after_ms, 9);
}

TEST(a_request_for_the_same_timeouts_inherits_none_that_is_off)
{
	const struct sandbox_timeouts of_sandbox = {.idle_stop_ms = 20, .delete_after_ms = 7};
	const struct sandbox_timeouts request = sandbox_timeouts_request(&of_sandbox);
	struct sandbox_timeouts copy = {.delete_after_ms = 1};

	assert_int_equal(request.idle_pause_ms, -1);
	assert_int_equal(request.idle_stop_ms, 20);
	assert_int_equal(request.idle_reap_ms, 0);
	assert_int_equal(request.delete_after_ms, 7);
	sandbox_timeouts_copy_inherited(&copy, &request);
	assert_int_equal(copy.idle_stop_ms, 20);
	assert_int_equal(copy.delete_after_ms, 1);
}

TEST(timeouts_have_bounds)
{
	static const struct sandbox_timeouts good[] = {
	        {0},
	        {.idle_pause_ms = -1, .idle_stop_ms = -1},
	        {1, 1, 1, 1, 1, INT64_C(10) * 366 * 24 * 3600 * 1000}};
	static const struct sandbox_timeouts bad[] = {
	        {.idle_pause_ms = -2},          {.idle_reap_ms = -1},
	        {.lifetime_max_ms = -1},        {.archive_after_ms = -1},
	        {.delete_after_ms = INT64_MAX}, {.idle_stop_ms = INT64_MAX}};
	struct error err = {0};

	for (size_t i = 0; i < COUNT_OF(good); i++)
		assert_int_equal(sandbox_timeouts_check(&good[i], &err), 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(sandbox_timeouts_check(&bad[i], &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

#define TIMED .traits = SANDBOX_PAUSES_IN_TIME | SANDBOX_TIMED_AWAKE
#define OVER .created_at = 1, .timeout_at = NOW
static const struct expiry_case timed[] = {
        {"paused at its time", {STARTED, TIMED, OVER}, DUE(PAUSE, LIFETIME)},
        {"busy", {STARTED, TIMED, OVER, .busy = true}, DUE(PAUSE, LIFETIME)},
        {"before", {STARTED, TIMED, .created_at = 1, .timeout_at = NOW + 1}, NOTHING},
        {"paused already", {PAUSED, TIMED, OVER}, NOTHING},
        {"stopped", {STOPPED, TIMED, OVER}, NOTHING},
        {"paused, to be deleted", {PAUSED, .traits = SANDBOX_TIMED_AWAKE, OVER}, NOTHING},
        {"started, to be deleted",
         {STARTED, .traits = SANDBOX_TIMED_AWAKE, OVER},
         DUE(DELETE, LIFETIME)},
        {"without memory",
         {STARTED, OVER, .traits = SANDBOX_PAUSES_IN_TIME | SANDBOX_WITHOUT_MEMORY},
         DUE(STOP, LIFETIME)},
        {"cannot be paused",
         {.state = SANDBOX_STARTED, .can_stop = true, TIMED, OVER},
         DUE(STOP, LIFETIME)},
        {"cannot rest at all", {.state = SANDBOX_STARTED, TIMED, OVER}, NOTHING},
        {"too old for all that",
         {PAUSED, TIMED, OVER, .timeouts.lifetime_max_ms = 5},
         DUE(DELETE, LIFETIME)},
};

TEST(one_that_is_to_rest_at_its_time_is_paused_or_stopped)
{
	check(timed, COUNT_OF(timed));
	assert_false(sandbox_is_asleep(SANDBOX_PAUSED, SANDBOX_REASON_USER, SANDBOX_SLEEPS_SOUND));
	assert_false(sandbox_is_asleep(SANDBOX_STOPPED, SANDBOX_REASON_IDLE, SANDBOX_SLEEPS_SOUND));
	assert_true(
	        sandbox_is_asleep(SANDBOX_PAUSED, SANDBOX_REASON_LIFETIME, SANDBOX_TIMED_AWAKE));
}

int main(void)
{
	return RUN(CASE(an_ephemeral_sandbox_is_deleted_when_nobody_used_it_for_long),
	           CASE(what_its_caller_limited_ends_busy_or_not),
	           CASE(an_idle_sandbox_is_paused_and_then_stopped),
	           CASE(one_that_was_stopped_is_archived_when_its_creator_has_said_so),
	           CASE(one_that_was_stopped_is_deleted_when_its_creator_has_said_so),
	           CASE(only_what_is_paused_or_was_stopped_for_idleness_is_asleep),
	           CASE(the_first_layer_that_sets_a_timeout_wins),
	           CASE(one_that_is_to_rest_at_its_time_is_paused_or_stopped),
	           CASE(timeouts_have_bounds), CASE(a_change_leaves_what_it_does_not_name),
	           CASE(a_request_for_the_same_timeouts_inherits_none_that_is_off));
}
