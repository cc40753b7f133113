/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/sandbox/egress.h"

#include <stdio.h>

#define RULES "+1.1.1.1 -0.0.0.0/0"

/* What the provider was told last. */
static char told[64];
static unsigned tellings;
static bool fails;

static int filter(UNUSED struct provider *p, UNUSED const char *id, const char *egress,
                  UNUSED int64_t deadline, struct error *err)
{
	if (fails)
		return FAIL(err, ERROR_SYSTEM, "on purpose");
	(void)snprintf(told, sizeof(told), "%s", egress);
	tellings++;
	return 0;
}

static void let_filter(struct harness *h)
{
	h->fake.own.abilities |= PROVIDER_CAN_FILTER;
	h->fake.own.filter = filter;
	told[0] = '\0';
	tellings = 0;
	fails = false;
}

static struct sandbox_record create_so(struct harness *h, int internet, const char *egress)
{
	const struct fleet_create request = {
	        .project_id = PROJECT, .internet = internet, .egress = egress, .wait = true};
	struct error err = {0};
	struct sandbox_record r = {0};

	assert_done(fleet_create(h->fleet, &h->arena, &request, &r, &err));
	return r;
}

static int set(struct harness *h, const char *id, const char *egress, struct sandbox_record *ret,
               struct error *err)
{
	const struct fleet_ref ref = {PROJECT, id};

	return fleet_set_egress(h->fleet, &h->arena, &ref, egress, ret, err);
}

static void a_provider_that_cannot_filter_refuses_by_name(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create_so(h, 1, NULL), r;
	struct fleet_create request = {
	        .project_id = PROJECT, .internet = 1, .egress = RULES, .wait = true};
	struct error err = {0};

	assert_refused(fleet_create(h->fleet, &h->arena, &request, &r, &err), ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "keep a sandbox from addresses"));
	assert_refused(set(h, made.id, RULES, &r, &err), ERROR_UNSUPPORTED);
	/* None is what it has. */
	assert_done(set(h, made.id, "", &r, &err));
}

static void rules_are_kept_and_changed_with_the_provider(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made, r;
	struct error err = {0};

	let_filter(h);
	made = create_so(h, 1, RULES);
	assert_string_equal(made.egress, RULES);
	assert_int_equal(tellings, 0);
	assert_done(set(h, made.id, "-9.9.9.9", &r, &err));
	/* It has these already. */
	assert_done(set(h, made.id, "-9.9.9.9", &r, &err));
	assert_int_equal(tellings, 1);
	assert_string_equal(told, "-9.9.9.9");
	assert_string_equal(r.egress, "-9.9.9.9");
	assert_string_equal(find(h, made.id).egress, "-9.9.9.9");
	assert_done(set(h, made.id, "", &r, &err));
	assert_string_equal(find(h, made.id).egress, "");
	assert_int_equal(tellings, 2);
	/* It has none already. */
	assert_done(set(h, made.id, "", &r, &err));
	assert_int_equal(tellings, 2);
	assert_refused(set(h, made.id, "nonsense", &r, &err), ERROR_INVALID);
	assert_refused(set(h, "nosuch", RULES, &r, &err), ERROR_NOT_FOUND);
}

static void what_the_provider_refuses_is_not_kept(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made, r;
	struct error err = {0};

	let_filter(h);
	made = create_so(h, 1, RULES);
	fails = true;
	assert_refused(set(h, made.id, "-9.9.9.9", &r, &err), ERROR_SYSTEM);
	assert_string_equal(find(h, made.id).egress, RULES);
}

static void one_that_is_stopped_has_its_rules_from_its_start_on(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made, r;
	struct fleet_ref ref = {.project_id = PROJECT};
	struct error err = {0};

	let_filter(h);
	made = create_so(h, 1, NULL);
	ref.id_or_name = made.id;
	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	assert_done(set(h, made.id, RULES, &r, &err));
	assert_int_equal(tellings, 0);
	assert_string_equal(r.egress, RULES);
}

static void one_without_a_network_is_allowed_nothing(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made, r;
	struct fleet_create request = {
	        .project_id = PROJECT, .internet = 0, .egress = RULES, .wait = true};
	struct error err = {0};

	let_filter(h);
	assert_refused(fleet_create(h->fleet, &h->arena, &request, &r, &err), ERROR_INVALID);
	made = create_so(h, 0, "-0.0.0.0/0");
	assert_refused(set(h, made.id, "-9.9.9.9", &r, &err), ERROR_INVALID);
	assert_done(set(h, made.id, "", &r, &err));
	assert_string_equal(r.egress, "");
	assert_int_equal(tellings, 0);
}

static void a_server_that_comes_back_sets_what_is_kept(void **state)
{
	struct harness *h = *state;

	let_filter(h);
	(void)create_so(h, 1, RULES);
	(void)create_so(h, 0, NULL);
	harness_restart(h);
	assert_int_equal(tellings, 1);
	assert_string_equal(told, RULES);
}

int main(void)
{
	return RUN_EACH(EACH(a_provider_that_cannot_filter_refuses_by_name),
	                EACH(rules_are_kept_and_changed_with_the_provider),
	                EACH(what_the_provider_refuses_is_not_kept),
	                EACH(one_that_is_stopped_has_its_rules_from_its_start_on),
	                EACH(one_without_a_network_is_allowed_nothing),
	                EACH(a_server_that_comes_back_sets_what_is_kept));
}
