/* SPDX-License-Identifier: Apache-2.0 */
/* A server takes the sandboxes of a shared provider from a server that is gone. */
#include "fleet/core/takeover.h"

#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/server/fleet.h"
#include "fleet/server/rounds.h"
#include "harness.h"
#include "store/peers.h"
#include "store/sandboxes.h"
#include "store/templates.h"

#define HERE_NODE "hhhhhhhhhhhhhhhhhhhh"
#define THERE "tttttttttttttttttttt"

/* This server has a name and an address; its provider is shared. */
static struct harness *begin(void **state)
{
	struct harness *h = *state;

	h->node = HERE_NODE;
	h->config.peer_url = "http://10.0.0.1:7777";
	h->fake.own.is_shared = true;
	harness_restart(h);
	return h;
}

static void put_peer(struct harness *h, const char *node, int64_t seen_at)
{
	const struct peer_record r = {
	        .node = node, .url = "http://10.0.0.2:7777", .seen_at = seen_at};
	struct error err = {0};

	assert_done(store_peer_put(h->store, &r, &err));
}

static int64_t peer_seen_at(struct harness *h, const char *node)
{
	struct peer_record r;
	struct error err = {0};

	assert_done(store_peer_find(h->store, &h->arena, node, &r, &err));
	return r.seen_at;
}

static struct id insert(struct harness *h, enum sandbox_state actual, const char *provider)
{
	struct error err = {0};
	struct id id = id_new();
	struct template_record t;
	struct sandbox_record r = {
	        .id = id.text,
	        .project_id = PROJECT,
	        .name = id.text,
	        .template_name = "host",
	        .provider = provider,
	        .desired = SANDBOX_STARTED,
	        .actual = actual,
	        .resources = SANDBOX_BUILT_IN_RESOURCES,
	        .created_at = clock_unix_ms(),
	        .node = THERE,
	};

	assert_done(store_template_find(h->store, &h->arena, PROJECT, "host", &t, &err));
	r.template_id = t.id;
	assert_done(store_sandbox_insert(h->store, &r, 0, &err));
	fake_set(&h->fake, id.text, actual == SANDBOX_PAUSED ? fake_paused : fake_running);
	return id;
}

static int take(struct harness *h, const char *node)
{
	struct error err = {0};

	return fleet_take_over(h->fleet, &h->arena, node, &err);
}

static int hold(struct harness *h, const char *id, struct error *err)
{
	const struct fleet_ref ref = {PROJECT, id};
	struct sandbox_record r;
	struct fleet_hold hold;

	*err = (struct error){0};
	if (fleet_hold(h->fleet, &h->arena, &ref, &r, &hold, err) < 0)
		return -1;
	fleet_unhold(&hold);
	return 0;
}

static void a_sandbox_of_a_server_that_is_gone_is_served_here(void **state)
{
	struct harness *h = begin(state);
	struct id one = insert(h, SANDBOX_STARTED, "fake"), two = insert(h, SANDBOX_PAUSED, "fake");
	const struct fleet_ref ref = {PROJECT, two.text};
	struct sandbox_record r;
	struct error err = {0};

	put_peer(h, THERE, clock_unix_ms());
	assert_int_equal(hold(h, one.text, &err), -1);
	assert_string_equal(err.node, THERE);
	assert_int_equal(take(h, THERE), 2);
	assert_int_equal(peer_seen_at(h, THERE), 0);
	assert_int_equal(hold(h, one.text, &err), 0);
	err = (struct error){0};
	assert_done(fleet_resume(h->fleet, &h->arena, &ref, &r, &err));
	assert_string_equal(r.node, HERE_NODE);
	assert_string_equal(fake_has(&h->fake, two.text), "running");
	assert_int_equal(take(h, THERE), 0);
}

static void only_sandboxes_of_shared_providers_are_taken(void **state)
{
	struct harness *h = begin(state);
	struct id other = insert(h, SANDBOX_STARTED, "native");

	put_peer(h, THERE, 0);
	assert_int_equal(take(h, THERE), 0);
	assert_string_equal(find(h, other.text).node, THERE);
	h->fake.own.is_shared = false;
	(void)insert(h, SANDBOX_STARTED, "fake");
	assert_int_equal(take(h, THERE), 0);
	fleet_lease_tick(h->fleet);
	assert_string_equal(find(h, other.text).node, THERE);
}

/* It has no address, so that nothing can say that it is gone. */
static void nothing_is_taken_from_a_server_without_an_address(void **state)
{
	struct harness *h = begin(state);
	struct id one = insert(h, SANDBOX_STARTED, "fake");

	assert_int_equal(take(h, THERE), -1);
	fleet_lease_tick(h->fleet);
	assert_string_equal(find(h, one.text).node, THERE);
	assert_int_equal(take(h, HERE_NODE), 0);
}

static void a_create_is_left_to_a_server_that_may_live(void **state)
{
	struct harness *h = begin(state);
	struct id made = insert(h, SANDBOX_CREATING, "fake");

	put_peer(h, THERE, clock_unix_ms());
	assert_int_equal(take(h, THERE), 0);
	fleet_lease_tick(h->fleet);
	assert_string_equal(find(h, made.text).node, THERE);
	/* Nothing was heard of it for a minute. */
	put_peer(h, THERE, clock_unix_ms() - 60000);
	harness_restart(h);
	fleet_lease_tick(h->fleet);
	assert_string_equal(find(h, made.text).node, HERE_NODE);
	fleet_tick(h->fleet);
	assert_int_equal(find(h, made.text).actual, SANDBOX_FAILED);
	assert_string_equal(fake_has(&h->fake, made.text), "nothing");
}

/* No request asks for them: timeouts end all the same. */
static void a_round_takes_what_a_stopped_server_had(void **state)
{
	struct harness *h = begin(state);
	struct id one = insert(h, SANDBOX_STARTED, "fake");

	put_peer(h, THERE, clock_unix_ms());
	fleet_lease_tick(h->fleet);
	assert_string_equal(find(h, one.text).node, THERE);
	put_peer(h, THERE, 0);
	harness_restart(h);
	fleet_lease_tick(h->fleet);
	assert_string_equal(find(h, one.text).node, HERE_NODE);
}

static void a_server_that_was_taken_for_gone_forgets_its_rows(void **state)
{
	struct harness *h = begin(state);
	struct sandbox_record r = create(h), mine = create(h);
	struct sandbox_takeover takeover = {
	        .node = THERE, .from = HERE_NODE, .providers = "{\"fake\":\"\"}"};
	struct error err = {0};

	fleet_lease_tick(h->fleet);
	fleet_lease_tick(h->fleet);
	assert_int_equal(hold(h, r.id, &err), 0);
	put_peer(h, HERE_NODE, 0);
	assert_int_equal(store_sandbox_take_over(h->store, &takeover, &err), 2);
	put_peer(h, THERE, clock_unix_ms());
	fleet_lease_tick(h->fleet);
	assert_true(peer_seen_at(h, HERE_NODE) > 0);
	assert_int_equal(hold(h, r.id, &err), -1);
	assert_string_equal(err.node, THERE);
	/* What comes back is served again, from its row. */
	assert_int_equal(take(h, THERE), 2);
	assert_int_equal(hold(h, r.id, &err), 0);
	assert_int_equal(hold(h, mine.id, &err), 0);
}

/* The sandboxes that it kept are still known: a row of the same version is good again. */
static void a_false_alarm_loses_nothing(void **state)
{
	struct harness *h = begin(state);
	struct sandbox_record r = create(h);
	struct error err = {0};

	fleet_lease_tick(h->fleet);
	fleet_lease_tick(h->fleet);
	put_peer(h, HERE_NODE, 0);
	fleet_lease_tick(h->fleet);
	assert_int_equal(hold(h, r.id, &err), 0);
	assert_int_equal(find(h, r.id).version, r.version);
	assert_true(peer_seen_at(h, HERE_NODE) > 0);
}

static void orphans_of_a_server_that_is_gone_are_removed(void **state)
{
	struct harness *h = begin(state);
	struct id gone = id_new(), lives = id_new(), local = id_new();
	struct error err = {0};

	put_peer(h, THERE, 0);
	put_peer(h, "another", clock_unix_ms());
	fake_set(&h->fake, gone.text, fake_running);
	fake_tag(&h->fake, gone.text, THERE, 0);
	fake_set(&h->fake, lives.text, fake_running);
	fake_tag(&h->fake, lives.text, "another", 0);
	h->fake.own.is_shared = false;
	fake_set(&h->fake, local.text, fake_running);
	fake_tag(&h->fake, local.text, THERE, 0);
	assert_done(fleet_sweep(h->fleet, &err));
	assert_string_equal(fake_has(&h->fake, gone.text), "running");
	fake_set(&h->fake, local.text, NULL);
	h->fake.own.is_shared = true;
	assert_done(fleet_sweep(h->fleet, &err));
	assert_string_equal(fake_has(&h->fake, gone.text), "nothing");
	assert_string_equal(fake_has(&h->fake, lives.text), "running");
}

/* Others take its sandboxes over before it refuses their requests. */
static void a_server_that_stops_says_so_before_it_ends(void **state)
{
	struct harness *h = begin(state);
	struct sandbox_record r = create(h);
	struct error err = {0};

	fleet_lease_tick(h->fleet);
	assert_true(peer_seen_at(h, HERE_NODE) > 0);
	fleet_hand_over(h->fleet);
	fleet_lease_tick(h->fleet);
	assert_int_equal(peer_seen_at(h, HERE_NODE), 0);
	fleet_lease_tick(h->fleet);
	assert_int_equal(peer_seen_at(h, HERE_NODE), 0);
	assert_int_equal(hold(h, r.id, &err), 0);
}

int main(void)
{
	return RUN_EACH(EACH(a_sandbox_of_a_server_that_is_gone_is_served_here),
	                EACH(only_sandboxes_of_shared_providers_are_taken),
	                EACH(nothing_is_taken_from_a_server_without_an_address),
	                EACH(a_create_is_left_to_a_server_that_may_live),
	                EACH(a_round_takes_what_a_stopped_server_had),
	                EACH(a_server_that_was_taken_for_gone_forgets_its_rows),
	                EACH(a_false_alarm_loses_nothing),
	                EACH(a_server_that_stops_says_so_before_it_ends),
	                EACH(orphans_of_a_server_that_is_gone_are_removed));
}
