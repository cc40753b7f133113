/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/lifecycle/rules.h"
#include "fleet/server/rounds.h"
#include "fleet/server/fleet.h"
#include "harness.h"
#include "provider/health.h"
#include "sandbox/isolation.h"
#include "provider/set.h"
#include "store/events.h"
#include "store/sandbox_record.h"
#include "store/sandboxes.h"

/* The fake of the harness is the primary, "fake"; this one is "second". */
static struct fake second;

static int open_two(void **state)
{
	struct harness *h;

	if (harness_open(state) < 0)
		return -1;
	h = *state;
	fake_init(&second);
	harness_stop(h);
	h->providers = provider_set_new();
	provider_set_lend(h->providers, "fake", (struct provider *)(void *)&h->fake);
	provider_set_lend(h->providers, "second", (struct provider *)(void *)&second);
	harness_start(h);
	return 0;
}

static int close_two(void **state)
{
	struct harness *h = *state;
	struct provider_set *set = h->providers;
	int result = harness_close(state);

	provider_set_free(set);
	fake_done(&second);
	return result;
}

#define WITH_TWO(name) cmocka_unit_test_setup_teardown(name, open_two, close_two)

static const struct fleet_create plain = {.project_id = PROJECT, .internet = -1, .wait = true};

static struct sandbox_record create_of(struct harness *h, const char *provider)
{
	struct fleet_create request = plain;

	request.provider = provider;
	return create_with(h, request);
}

static void assert_no_create(struct harness *h, struct fleet_create request, enum error_code code,
                             const char *text)
{
	struct error err = {0};
	struct sandbox_record r;

	assert_int_equal(fleet_create(h->fleet, &h->arena, &request, &r, &err), -1);
	assert_int_equal(err.code, code);
	if (!strstr(err.text, text))
		fail_msg("'%s' is not in '%s'", text, err.text);
}

static struct provider_health_report health_of(struct harness *h, unsigned number)
{
	return provider_health_get(provider_set_at(h->providers, number)->health);
}

static void the_first_provider_makes_what_names_none(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create(h);

	assert_string_equal(r.provider, "fake");
	assert_string_equal(fake_has(&h->fake, r.id), "running");
	assert_string_equal(fake_has(&second, r.id), "nothing");
}

static void each_sandbox_is_its_own_providers(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_of(h, "second");
	const struct fleet_ref ref = {PROJECT, r.id};
	struct error err = {0};

	assert_string_equal(r.provider, "second");
	assert_string_equal(fake_has(&second, r.id), "running");
	assert_string_equal(fake_has(&h->fake, r.id), "nothing");
	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	assert_string_equal(fake_has(&second, r.id), "files");
	harness_restart(h);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STOPPED);
	assert_done(fleet_delete(h->fleet, &h->arena, &ref, SANDBOX_REASON_USER, &err));
	assert_string_equal(fake_has(&second, r.id), "nothing");
}

static void a_create_goes_on_when_a_provider_fails(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r;

	fake_fail(&h->fake, CALL_CREATE, true);
	r = create(h);
	assert_string_equal(r.provider, "second");
	assert_string_equal(find(h, r.id).provider, "second");
	assert_string_equal(fake_has(&second, r.id), "running");
	assert_string_equal(fake_has(&h->fake, r.id), "nothing");
	assert_int_equal(health_of(h, 0).failures, 1);
	assert_int_equal(health_of(h, 1).creates, 1);
	assert_int_equal(health_of(h, 1).failures, 0);
}

static void what_a_failed_provider_leaves_is_swept(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r;
	struct error err = {0};

	fake_fail(&h->fake, CALL_CREATE, true);
	h->fake.leaves_remains = true;
	r = create(h);
	assert_string_equal(r.provider, "second");
	assert_string_not_equal(fake_has(&h->fake, r.id), "nothing");
	assert_done(fleet_sweep(h->fleet, &err));
	assert_string_equal(fake_has(&h->fake, r.id), "nothing");
	assert_string_equal(fake_has(&second, r.id), "running");
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
}

static void the_error_lists_what_was_tried(void **state)
{
	struct harness *h = *state;

	fake_fail(&h->fake, CALL_CREATE, true);
	fake_fail(&second, CALL_CREATE, true);
	assert_no_create(h, plain, ERROR_SYSTEM, "every provider failed: fake: ");
	assert_no_create(h, plain, ERROR_SYSTEM, "second: ");
}

static void a_named_provider_is_the_only_one_that_is_tried(void **state)
{
	struct harness *h = *state;
	struct fleet_create request = plain;

	request.provider = "second";
	fake_fail(&second, CALL_CREATE, true);
	assert_no_create(h, request, ERROR_SYSTEM, "");
	assert_int_equal(h->fake.calls[CALL_CREATE], 0);
	request.provider = "third";
	assert_no_create(h, request, ERROR_INVALID, "configured: fake, second");
}

static struct sandbox_record create_sized(struct harness *h, int64_t memory_mb)
{
	struct fleet_create request = plain;

	request.resources.memory_mb = memory_mb;
	return create_with(h, request);
}

static void the_first_rule_that_matches_lists_the_providers(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r;

	routing_rules_set(
	        h->fleet->rules,
	        "big:memory_mb_min=512;providers=second,none:memory_mb_max=32;providers=gone", 1);
	r = create_sized(h, 512);
	assert_string_equal(r.provider, "second");
	assert_string_equal(find(h, r.id).placed, "rule 'big'");
	assert_string_equal(create_sized(h, 64).provider, "fake");
	struct fleet_create request = plain;
	request.resources.memory_mb = 32;
	assert_no_create(h, request, ERROR_UNSUPPORTED, "gone: this server does not have it");
	routing_rules_set(h->fleet->rules, NULL, 2);
	assert_string_equal(create_sized(h, 512).provider, "fake");
}

static void a_fail_over_is_told_in_the_row(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r;

	routing_rules_set(h->fleet->rules, "all:providers=second fake", 1);
	fake_fail(&second, CALL_CREATE, true);
	r = find(h, create(h).id);
	assert_string_equal(r.provider, "fake");
	assert_non_null(strstr(r.placed, "rule 'all'; failed second: "));
}

static void a_rule_never_weakens_what_is_asked(void **state)
{
	struct harness *h = *state;
	struct fleet_create request = plain;

	second.own.isolation = "namespaces";
	h->fake.own.isolation = "none";
	routing_rules_set(h->fleet->rules, "all:providers=fake", 1);
	request.isolation = "namespaces";
	assert_no_create(h, request, ERROR_UNSUPPORTED, "less than namespaces");
	assert_int_equal(h->fake.calls[CALL_CREATE] + second.calls[CALL_CREATE], 0);
}

static void a_slow_provider_is_tried_last(void **state)
{
	struct harness *h = *state;
	struct provider_health *health = provider_set_at(h->providers, 0)->health;

	provider_health_limit(health, 100);
	for (unsigned i = 0; i < 2; i++)
		provider_health_created(health, 900000);
	assert_string_equal(create(h).provider, "fake");
	provider_health_created(health, 900000);
	assert_string_equal(create(h).provider, "second");
	assert_string_equal(create_of(h, "fake").provider, "fake");
}

static void a_provider_at_its_cost_or_draining_is_passed_over(void **state)
{
	struct harness *h = *state;
	const struct provider_member *m = provider_set_at(h->providers, 0);
	struct fleet_create request = plain;

	provider_set_bound(h->providers, m, &(struct provider_bounds){.cost_month_max = 5000000});
	provider_member_note_cost(m, 0, 4999999);
	assert_string_equal(create(h).provider, "fake");
	provider_member_note_cost(m, 0, 5000000);
	assert_string_equal(create(h).provider, "second");
	provider_member_note_cost(m, 0, 0);
	provider_member_drain(m);
	assert_string_equal(create(h).provider, "second");
	request.provider = "fake";
	assert_no_create(h, request, ERROR_UNAVAILABLE, "being removed");
}

/* The options of a lent member are those of the fake, which has none. */
static void allow_weaker(struct harness *h, const char *name)
{
	const struct provider_member *m = provider_set_find(h->providers, name);

	provider_set_bound(h->providers, m, &(struct provider_bounds){.allows_weaker = true});
}

static void isolation_is_never_weaker_than_asked(void **state)
{
	struct harness *h = *state;
	struct fleet_create request = plain;

	h->fake.own.isolation = "namespaces";
	fake_fail(&h->fake, CALL_CREATE, true);
	/* By default, too: that of the primary. */
	assert_no_create(h, plain, ERROR_SYSTEM, "");
	assert_int_equal(second.calls[CALL_CREATE], 0);
	request.isolation = "none";
	assert_no_create(h, request, ERROR_SYSTEM, "");
	request.provider = "second";
	assert_no_create(h, request, ERROR_UNSUPPORTED, "its allow_weaker is off");
	allow_weaker(h, "second");
	request.provider = NULL;
	assert_string_equal(create_with(h, request).provider, "second");
	/* A request that names neither is never weaker. */
	assert_no_create(h, plain, ERROR_SYSTEM, "");
	second.own.isolation = "gvisor";
	request.isolation = "gvisor";
	assert_string_equal(create_with(h, request).provider, "second");
	request.isolation = "microvm";
	assert_no_create(h, request, ERROR_UNSUPPORTED, "second: its isolation is gvisor");
	request.isolation = "strong";
	assert_no_create(h, request, ERROR_INVALID, "isolation: unknown 'strong'");
}

static void a_provider_in_trouble_comes_last(void **state)
{
	struct harness *h = *state;

	fake_fail(&h->fake, CALL_CREATE, true);
	for (unsigned i = 0; i < HEALTH_FAILURES_MAX; i++)
		(void)create(h);
	assert_false(health_of(h, 0).is_healthy);
	assert_int_equal(h->fake.calls[CALL_CREATE], HEALTH_FAILURES_MAX);
	assert_string_equal(create(h).provider, "second");
	assert_int_equal(h->fake.calls[CALL_CREATE], HEALTH_FAILURES_MAX);
	/* It is tried again when no other can. */
	fake_fail(&second, CALL_CREATE, true);
	fake_fail(&h->fake, CALL_CREATE, false);
	assert_string_equal(create(h).provider, "fake");
	assert_true(health_of(h, 0).is_healthy);
}

static unsigned count_events(struct harness *h, const char *kind)
{
	const struct event_page page = {.pattern = kind, .limit = 100};
	struct event_list events;
	struct error err = {0};

	assert_done(store_event_list(h->store, &h->arena, &page, &events, &err));
	return (unsigned)events.count;
}

static void trouble_and_recovery_are_events(void **state)
{
	struct harness *h = *state;

	fake_fail(&h->fake, CALL_CREATE, true);
	for (unsigned i = 0; i < HEALTH_FAILURES_MAX; i++)
		(void)create(h);
	providers_tick(h->fleet);
	providers_tick(h->fleet);
	assert_int_equal(count_events(h, "provider.unhealthy"), 1);
	fake_fail(&h->fake, CALL_CREATE, false);
	(void)create_of(h, "fake");
	providers_tick(h->fleet);
	assert_int_equal(count_events(h, "provider.recovered"), 1);
}

static void a_silent_provider_loses_no_sandbox(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_of(h, "second");

	fake_fail(&second, CALL_LIST, true);
	harness_restart(h);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	fake_fail(&second, CALL_LIST, false);
	harness_restart(h);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	assert_string_equal(fake_has(&second, r.id), "running");
}

static void a_provider_that_is_not_configured_loses_no_sandbox(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_of(h, "second");
	const struct fleet_ref ref = {PROJECT, r.id};
	struct provider_set *both = h->providers;
	struct error err = {0};

	h->providers = NULL;
	harness_restart(h);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	assert_int_equal(fleet_delete(h->fleet, &h->arena, &ref, SANDBOX_REASON_USER, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "'second'"));
	h->providers = both;
	harness_restart(h);
	assert_string_equal(fake_has(&second, r.id), "running");
}

static void levels_of_isolation_are_ordered(void **state)
{
	(void)state;
	assert_true(isolation_suffices("microvm", "gvisor"));
	assert_true(isolation_suffices("namespaces", "none"));
	assert_true(isolation_suffices("none", NULL));
	assert_false(isolation_suffices("none", "namespaces"));
	assert_false(isolation_suffices("gvisor", "microvm"));
	assert_false(isolation_suffices("remote", "namespaces"));
	assert_false(isolation_suffices("microvm", "remote"));
	assert_true(isolation_suffices("remote", "none"));
	assert_false(isolation_is_known("runc"));
}

int main(void)
{
	return RUN_EACH(WITH_TWO(the_first_rule_that_matches_lists_the_providers),
	                WITH_TWO(a_fail_over_is_told_in_the_row),
	                WITH_TWO(a_rule_never_weakens_what_is_asked),
	                WITH_TWO(a_slow_provider_is_tried_last),
	                WITH_TWO(a_provider_at_its_cost_or_draining_is_passed_over),
	                WITH_TWO(the_first_provider_makes_what_names_none),
	                WITH_TWO(each_sandbox_is_its_own_providers),
	                WITH_TWO(a_create_goes_on_when_a_provider_fails),
	                WITH_TWO(what_a_failed_provider_leaves_is_swept),
	                WITH_TWO(the_error_lists_what_was_tried),
	                WITH_TWO(a_named_provider_is_the_only_one_that_is_tried),
	                WITH_TWO(isolation_is_never_weaker_than_asked),
	                WITH_TWO(a_provider_in_trouble_comes_last),
	                WITH_TWO(trouble_and_recovery_are_events),
	                WITH_TWO(a_silent_provider_loses_no_sandbox),
	                WITH_TWO(a_provider_that_is_not_configured_loses_no_sandbox),
	                cmocka_unit_test(levels_of_isolation_are_ordered));
}
