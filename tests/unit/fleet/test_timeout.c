/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes that live by their timeout, and the tokens that open them. */
#include "harness.h"
#include "store/sandbox_record.h"
#include "fleet/core/access.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/sandbox/settings.h"
#include "fleet/server/fleet.h"

#define TIMED (SANDBOX_PAUSES_IN_TIME | SANDBOX_TIMED_AWAKE)

static void let_a_moment_pass(void)
{
	int64_t until = clock_unix_ms() + 3;

	while (clock_unix_ms() < until)
		;
}

static struct fleet_ref ref_of(const struct sandbox_record *r)
{
	return (struct fleet_ref){PROJECT, r->id};
}

static struct sandbox_record make(struct harness *h, unsigned traits)
{
	return create_with(h, (struct fleet_create){.timeout_ms = 1, .traits = traits});
}

static int give(struct harness *h, const struct sandbox_record *of, struct fleet_timeout timeout,
                struct sandbox_record *ret, struct error *err)
{
	const struct fleet_ref ref = ref_of(of);

	return fleet_set_timeout(h->fleet, &h->arena, &ref, &timeout, ret, err);
}

static void a_timeout_pauses_one_that_is_to_be_paused(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = make(h, TIMED), other = make(h, 0);

	let_a_moment_pass();
	fleet_tick(h->fleet);
	r = find(h, r.id);
	assert_int_equal(r.actual, SANDBOX_PAUSED);
	assert_int_equal(r.reason, SANDBOX_REASON_LIFETIME);
	assert_string_equal(r.last_event, "paused: its time was over");
	assert_gone(h, other.id);
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).actual, SANDBOX_PAUSED);
}

static void without_its_memory_it_is_stopped(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = make(h, TIMED | SANDBOX_WITHOUT_MEMORY);

	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STOPPED);
}

static void its_next_use_gives_it_time_again(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = make(h, TIMED);
	const struct fleet_ref ref = ref_of(&r);
	struct fleet_hold hold = {0};

	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_done(fleet_hold(h->fleet, &h->arena, &ref, &r, &hold, &err));
	fleet_unhold(&hold);
	assert_int_equal(r.actual, SANDBOX_STARTED);
	assert_true(r.timeout_at > clock_unix_ms() + SANDBOX_WOKEN_MS / 2);
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
}

static void a_sound_sleeper_is_woken_by_a_resume_alone(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = make(h, TIMED | SANDBOX_SLEEPS_SOUND);
	const struct fleet_ref ref = ref_of(&r);
	struct fleet_hold hold = {0};

	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_refused(fleet_hold(h->fleet, &h->arena, &ref, &r, &hold, &err), ERROR_CONFLICT);
	assert_done(fleet_resume(h->fleet, &h->arena, &ref, &r, &err));
	assert_done(fleet_hold(h->fleet, &h->arena, &ref, &r, &hold, &err));
	fleet_unhold(&hold);
}

static void a_timeout_is_set_sooner_or_only_later(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create_with(h, (struct fleet_create){.timeout_ms = 100000}),
	                      after;

	assert_done(give(h, &r, (struct fleet_timeout){50000, true}, &after, &err));
	assert_int_equal(after.timeout_at, r.timeout_at);
	assert_done(give(h, &r, (struct fleet_timeout){50000, false}, &after, &err));
	assert_true(after.timeout_at < r.timeout_at);
	assert_done(give(h, &r, (struct fleet_timeout){200000, true}, &after, &err));
	assert_true(after.timeout_at > r.timeout_at);
	assert_int_equal(find(h, r.id).timeout_at, after.timeout_at);
	assert_refused(give(h, &r, (struct fleet_timeout){0, false}, &after, &err), ERROR_INVALID);
	assert_refused(
	        give(h, &r, (struct fleet_timeout){FLEET_TIMEOUT_MAX_MS + 1, false}, &after, &err),
	        ERROR_INVALID);
	after.id = "aaaaaaaaaaaaaaaaaaaa";
	assert_refused(give(h, &after, (struct fleet_timeout){1, false}, &after, &err),
	               ERROR_NOT_FOUND);
}

static void a_token_opens_its_own_sandbox_for_its_own_purpose(void **state)
{
	struct harness *h = *state;
	char agent[FLEET_ACCESS_TOKEN_SIZE + 1], again[FLEET_ACCESS_TOKEN_SIZE + 1];

	fleet_access_token(h->fleet, "one", FLEET_ACCESS_AGENT, agent);
	fleet_access_token(h->fleet, "one", FLEET_ACCESS_AGENT, again);
	assert_string_equal(agent, again);
	assert_int_equal(strspn(agent, "0123456789abcdef"), FLEET_ACCESS_TOKEN_SIZE);
	assert_true(fleet_access_check(h->fleet, "one", FLEET_ACCESS_AGENT, span_of(agent)));
	assert_false(fleet_access_check(h->fleet, "one", FLEET_ACCESS_TRAFFIC, span_of(agent)));
	assert_false(fleet_access_check(h->fleet, "two", FLEET_ACCESS_AGENT, span_of(agent)));
	assert_false(fleet_access_check(h->fleet, "one", FLEET_ACCESS_AGENT, SPAN("")));
	agent[0] = agent[0] == '0' ? '1' : '0';
	assert_false(fleet_access_check(h->fleet, "one", FLEET_ACCESS_AGENT, span_of(agent)));
}

int main(void)
{
	return RUN_EACH(EACH(a_timeout_pauses_one_that_is_to_be_paused),
	                EACH(without_its_memory_it_is_stopped),
	                EACH(its_next_use_gives_it_time_again),
	                EACH(a_sound_sleeper_is_woken_by_a_resume_alone),
	                EACH(a_timeout_is_set_sooner_or_only_later),
	                EACH(a_token_opens_its_own_sandbox_for_its_own_purpose));
}
