/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"
#include "fleet/core/operation.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/sandbox/egress.h"
#include "fleet/sandbox/egress_cuts.h"
#include "store/quotas.h"
#include "store/usage.h"

#include "fleet/server/fleet.h"
#include "store/projects.h"

#include <stdio.h>
#include <unistd.h>

#define RULES "+1.1.1.1 -0.0.0.0/0"

/* What the provider was told last. A worker may tell it: see reconnect. */
static pthread_mutex_t told_mutex = PTHREAD_MUTEX_INITIALIZER;
static char told[256];
static unsigned tellings;
static bool fails;

static int filter(UNUSED struct provider *p, UNUSED const char *id, const char *egress,
                  UNUSED int64_t deadline, struct error *err)
{
	if (fails)
		return FAIL(err, ERROR_SYSTEM, "on purpose");
	pthread_mutex_lock(&told_mutex);
	(void)snprintf(told, sizeof(told), "%s", egress);
	tellings++;
	pthread_mutex_unlock(&told_mutex);
	return 0;
}

static unsigned count_tellings(void)
{
	unsigned count;

	pthread_mutex_lock(&told_mutex);
	count = tellings;
	pthread_mutex_unlock(&told_mutex);
	return count;
}

/* The provider has forgotten its rules: a worker tells it those of the one sandbox. */
static void reconnect(struct harness *h)
{
	int64_t until = deadline_after(30000);
	unsigned before = count_tellings();

	fleet_on_reconnected(h->fleet);
	while (count_tellings() == before) {
		assert_true(deadline_poll_ms(until) > 0);
		(void)usleep(1000);
	}
}

static int leave_by(struct project_record *r, const void *context, UNUSED struct error *err)
{
	r->source_address = context;
	return 0;
}

/* By a server of the store that checks it on its own host. */
static void set_source(struct harness *h, const char *address)
{
	const struct project_edit edit = {PROJECT, leave_by, address};
	struct project_record ignored;
	struct error err = {0};

	assert_done(store_project_edit(h->store, &h->arena, &edit, &ignored, &err));
	egress_find_sources(h->fleet);
	egress_repeat_rules(h->fleet);
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

static void a_source_address_that_is_changed_elsewhere_is_told(void **state)
{
	struct harness *h = *state;
	struct sandbox_record plain, ruled;

	let_filter(h);
	h->fake.own.abilities |= PROVIDER_CAN_LEAVE_BY;
	plain = create_so(h, 1, NULL);
	set_source(h, "192.0.2.77");
	assert_int_equal(tellings, 1);
	assert_string_equal(told, "@192.0.2.77");
	assert_string_equal(find(h, plain.id).egress, "");
	/* Nothing has changed. */
	egress_find_sources(h->fleet);
	egress_repeat_rules(h->fleet);
	assert_int_equal(tellings, 1);
	reconnect(h);
	assert_string_equal(told, "@192.0.2.77");
	set_source(h, "");
	assert_string_equal(told, "");
	ruled = create_so(h, 1, RULES);
	fails = true;
	set_source(h, "192.0.2.78");
	fails = false;
	told[0] = '\0';
	egress_repeat_rules(h->fleet);
	assert_non_null(strstr(told, "@192.0.2.78"));
	assert_string_equal(find(h, ruled.id).egress, RULES);
}

static void nothing_is_created_without_the_source_address(void **state)
{
	struct harness *h = *state;
	const struct fleet_create request = {.project_id = PROJECT, .internet = 1, .wait = true};
	struct sandbox_record r;
	struct error err = {0};

	let_filter(h);
	set_source(h, "192.0.2.77");
	assert_refused(fleet_create(h->fleet, &h->arena, &request, &r, &err), ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "leave by a source address"));
	h->fake.own.abilities |= PROVIDER_CAN_LEAVE_BY;
	assert_refused(fleet_create(h->fleet, &h->arena, &request, &r, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "this host does not have the source address 192.0.2.77"));
	h->config.network_proxy = "http://192.0.2.1:3128";
	assert_refused(fleet_create(h->fleet, &h->arena, &request, &r, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "network_proxy"));
	/* It needs none. */
	(void)create_so(h, 0, NULL);
}

/* It would leave by another address otherwise. */
static void a_sandbox_that_cannot_leave_by_it_reaches_nothing(void **state)
{
	struct harness *h = *state;

	let_filter(h);
	(void)create_so(h, 1, RULES);
	set_source(h, "192.0.2.77");
	assert_string_equal(told, "-0.0.0.0/0");
	h->fake.own.abilities |= PROVIDER_CAN_LEAVE_BY;
	h->config.network_proxy = "http://192.0.2.1:3128";
	reconnect(h);
	assert_string_equal(told, "-0.0.0.0/0");
}

#define DAY (INT64_C(20000) * QUOTA_DAY_MS)
#define MIB INT64_C(1048576)

static void set_quota(struct harness *h, const char *scope, const char *subject, double mb)
{
	double values[QUOTA_LIMIT_COUNT];
	const struct quota_change change = {{scope, subject}, values, DAY};
	struct error err = {0};

	for (unsigned i = 0; i < QUOTA_LIMIT_COUNT; i++)
		values[i] = i == QUOTA_EGRESS_MB_PER_DAY ? mb : -1;
	assert_done(store_quota_change(h->store, &change, &err));
}

/* Its counter shows so much. */
static void sends(struct harness *h, const char *id, int64_t counter)
{
	struct error err = {0};
	struct meter_record seen;
	bool is_written;

	assert_done(store_meter_find(h->store, &h->arena, id, &seen, &err));
	const struct usage_part part = {.seen = &seen,
	                                .egress_seen = counter,
	                                .sent_bytes = counter - seen.egress_seen,
	                                .sent_day = DAY};

	assert_done(store_sent_write(h->store, &part, &is_written, &err));
}

static void update(struct harness *h, int64_t now)
{
	struct error err = {0};

	assert_done(egress_cuts_update(h->fleet, now, &err));
}

static struct sandbox_record create_spender(struct harness *h, const char *egress)
{
	struct sandbox_record made;

	let_filter(h);
	h->fake.own.abilities |= PROVIDER_CAN_CUT;
	made = create_so(h, 1, egress);
	set_quota(h, "project", PROJECT, 2);
	sends(h, made.id, 2 * MIB);
	return made;
}

#define IS_CUT(text) (strncmp((text), "^egress_mb_per_day/project/" PROJECT "/", 27) == 0)

static void a_quota_cuts_the_network_until_it_is_raised_or_the_day_ends(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create_spender(h, RULES);

	sends(h, made.id, 2 * MIB - 1);
	update(h, DAY + 1);
	assert_true(IS_CUT(told));
	assert_non_null(strstr(told, RULES));
	assert_string_equal(find(h, made.id).egress, RULES);
	assert_true(*find(h, made.id).egress_cut != '\0');
	update(h, DAY + 2);
	assert_int_equal(tellings, 1);
	set_quota(h, "project", PROJECT, 3);
	update(h, DAY + 3);
	assert_string_equal(told, RULES);
	assert_string_equal(find(h, made.id).egress_cut, "");
	set_quota(h, "project", PROJECT, 1);
	update(h, DAY + 4);
	assert_true(IS_CUT(told));
	update(h, DAY + QUOTA_DAY_MS);
	assert_string_equal(told, RULES);
	assert_string_equal(find(h, made.id).egress_cut, "");
}

static void new_rules_do_not_lift_a_cut_and_hold_after_it(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create_spender(h, RULES), r;
	const struct fleet_ref ref = {PROJECT, made.id};
	struct error err = {0};

	update(h, DAY);
	assert_done(set(h, made.id, "", &r, &err));
	assert_true(IS_CUT(told));
	assert_done(set(h, made.id, "-9.9.9.9 ~watch", &r, &err));
	assert_true(IS_CUT(told));
	assert_done(fleet_pause(h->fleet, &h->arena, &ref, &r, &err));
	assert_done(fleet_resume(h->fleet, &h->arena, &ref, &r, &err));
	*told = '\0';
	harness_restart(h);
	assert_true(IS_CUT(told));
	set_quota(h, "project", PROJECT, 0);
	update(h, DAY);
	assert_string_equal(told, "-9.9.9.9 ~watch");
}

static void a_provider_that_fails_is_told_at_the_next_round(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create_spender(h, NULL);

	fails = true;
	update(h, DAY);
	assert_string_equal(find(h, made.id).egress_cut, "");
	fails = false;
	update(h, DAY);
	assert_true(IS_CUT(told));
	assert_true(*find(h, made.id).egress_cut != '\0');
	fails = true;
	set_quota(h, "project", PROJECT, 0);
	update(h, DAY);
	assert_true(*find(h, made.id).egress_cut != '\0');
	fails = false;
	update(h, DAY);
	assert_string_equal(told, "");
}

static void other_keys_projects_and_providers_keep_their_network(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create_spender(h, NULL);

	set_quota(h, "project", PROJECT, 0);
	set_quota(h, "project", "another", 0.0001);
	set_quota(h, "key", "another", 0.0001);
	update(h, DAY);
	assert_int_equal(tellings, 0);
	set_quota(h, "project", PROJECT, 1);
	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_CUT;
	update(h, DAY);
	assert_int_equal(tellings, 0);
	assert_string_equal(find(h, made.id).egress_cut, "");
}

/* The tenant can hold it for as long as its calls take. */
static void an_operation_does_not_hold_up_a_cut_and_tells_it_too(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create_spender(h, RULES);
	struct operation op = {0};
	struct error err = {0};
	unsigned before;

	assert_done(operation_begin(h->fleet, &h->arena, made.id, deadline_after(0), &op, &err));
	update(h, DAY);
	assert_true(IS_CUT(told));
	assert_true(*find(h, made.id).egress_cut != '\0');
	/* It began before, and tells the provider what it has read. */
	assert_done(egress_reconcile(&op, &err));
	assert_string_equal(told, RULES);
	update(h, DAY);
	assert_true(IS_CUT(told));
	operation_end(&op);
	before = tellings;
	update(h, DAY);
	assert_true(IS_CUT(told));
	assert_int_equal(tellings, before + 1);
	update(h, DAY);
	assert_int_equal(tellings, before + 1);
	/* A network that comes back has time. */
	set_quota(h, "project", PROJECT, 0);
	assert_done(operation_begin(h->fleet, &h->arena, made.id, deadline_after(0), &op, &err));
	update(h, DAY);
	assert_true(IS_CUT(told));
	operation_end(&op);
	update(h, DAY);
	assert_string_equal(told, RULES);
}

/* The provider's filter, in which the round of another thread comes first. */
static struct harness *cut_before_filter;

static int filter_after_cut(struct provider *p, const char *id, const char *egress,
                            int64_t deadline, struct error *err)
{
	struct harness *h = cut_before_filter;

	cut_before_filter = NULL;
	if (h)
		update(h, DAY);
	return filter(p, id, egress, deadline, err);
}

static void rules_that_are_set_while_a_round_cuts_do_not_lift_the_cut(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create_spender(h, RULES), r;
	struct error err = {0};

	h->fake.own.filter = filter_after_cut;
	cut_before_filter = h;
	assert_done(set(h, made.id, "-9.9.9.9", &r, &err));
	assert_true(IS_CUT(told));
	assert_non_null(strstr(told, "-9.9.9.9"));
	assert_string_equal(find(h, made.id).egress, "-9.9.9.9");
}

int main(void)
{
	return RUN_EACH(EACH(a_provider_that_cannot_filter_refuses_by_name),
	                EACH(rules_are_kept_and_changed_with_the_provider),
	                EACH(what_the_provider_refuses_is_not_kept),
	                EACH(one_that_is_stopped_has_its_rules_from_its_start_on),
	                EACH(one_without_a_network_is_allowed_nothing),
	                EACH(a_server_that_comes_back_sets_what_is_kept),
	                EACH(a_source_address_that_is_changed_elsewhere_is_told),
	                EACH(nothing_is_created_without_the_source_address),
	                EACH(a_sandbox_that_cannot_leave_by_it_reaches_nothing),
	                EACH(a_quota_cuts_the_network_until_it_is_raised_or_the_day_ends),
	                EACH(new_rules_do_not_lift_a_cut_and_hold_after_it),
	                EACH(a_provider_that_fails_is_told_at_the_next_round),
	                EACH(an_operation_does_not_hold_up_a_cut_and_tells_it_too),
	                EACH(rules_that_are_set_while_a_round_cuts_do_not_lift_the_cut),
	                EACH(other_keys_projects_and_providers_keep_their_network));
}
