/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/server/down.h"
#include "fleet/server/fleet.h"
#include "harness.h"
#include "json/json.h"
#include "provider/provider.h"
#include "store/driver.h"
#include "store/projects.h"
#include "store/sandbox_record.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define REQUEST(...) (&(struct fleet_create){.project_id = PROJECT, .wait = true, __VA_ARGS__})
#define LATER (&(struct fleet_create){.project_id = PROJECT})

static void a_created_sandbox_is_started_and_says_how_long_it_took(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create(h), found;

	assert_int_equal(r.actual, SANDBOX_STARTED);
	assert_int_equal(r.desired, SANDBOX_STARTED);
	assert_non_null(strstr(r.last_event, "started in"));
	assert_string_equal(r.provider, "fake");
	assert_string_equal(r.template_name, "host");
	assert_string_equal(r.region, "here");
	assert_true(r.disk_is_advisory && !r.persistent && !r.privileges);
	assert_string_equal(fake_has(&h->fake, r.id), "running");
	found = find(h, r.name);
	assert_string_equal(found.id, r.id);
}

static void the_usual_create_costs_two_changes_of_its_row(void **state)
{
	struct harness *h = *state;

	/* The insert and the move to STARTED: two commits. */
	assert_int_equal(create(h).version, 2);
}

/* The store's driver, with its waits for the disk counted. */
static struct store_driver counting;
static const struct store_driver *counted;
static unsigned syncs_begun, syncs_waited, changes_waited;

static uint64_t count_begin(struct store *s)
{
	syncs_begun++;
	return counted->sync_begin(s);
}

static int count_wait(struct store *s, uint64_t sync, struct error *err)
{
	syncs_waited++;
	return counted->sync_wait(s, sync, err);
}

static int count_change(struct store *s, const struct transaction *t, struct error *err)
{
	changes_waited += !t->is_lazy;
	return counted->change(s, t, err);
}

static void count_syncs(struct store *s)
{
	counted = s->driver;
	counting = *counted;
	counting.sync_begin = count_begin;
	counting.sync_wait = count_wait;
	counting.change = count_change;
	s->driver = &counting;
	syncs_begun = syncs_waited = changes_waited = 0;
}

static void only_what_is_to_last_waits_for_the_disk(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	count_syncs(h->store);
	r = create(h);
	assert_int_equal(syncs_begun + syncs_waited + changes_waited, 0);
	/* Its end is promised: it never comes back. */
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id},
	                         SANDBOX_REASON_USER, &err));
	assert_true(syncs_begun == 1 && syncs_waited == 1);
	(void)create_with(h, (struct fleet_create){.persistent = true});
	assert_true(syncs_begun == 2 && syncs_waited == 2 && changes_waited == 1);
	h->store->driver = counted;
}

/* The write-ahead log cannot grow any more: as on a full disk. */
static void forbid_writing(void)
{
	const struct rlimit none = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
}

static void allow_writing(void)
{
	const struct rlimit all = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
}

static void what_was_begun_goes_when_its_row_cannot_be_written(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r;
	struct error err = {0};
	char folder[] = "/tmp/atoll-create-XXXXXX";

	assert_non_null(mkdtemp(folder));
	harness_store(h, arena_format(&h->arena, "sqlite:%s/atoll.db", folder));
	h->fake.on_begun = forbid_writing;
	int result = fleet_create(h->fleet, &h->arena, REQUEST(.name = "late"), &r, &err);
	allow_writing();
	h->fake.on_begun = NULL;
	assert_int_equal(result, -1);
	assert_int_equal(h->fake.calls[CALL_CREATE], 1);
	assert_int_equal(h->fake.calls[CALL_DESTROY], 1);
	assert_int_equal(h->fake.sandboxes.count, 0);
	assert_int_equal(create_with(h, (struct fleet_create){.name = "late"}).actual,
	                 SANDBOX_STARTED);
	harness_store(h, "sqlite::memory:");
	assert_int_equal(unlink(arena_format(&h->arena, "%s/atoll.db", folder)), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void what_is_refused_is_not_begun(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r;
	struct error err = {0};

	(void)create_with(h, (struct fleet_create){.name = "taken"});
	assert_int_equal(fleet_create(h->fleet, &h->arena, REQUEST(.name = "taken"), &r, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	assert_int_equal(h->fake.calls[CALL_CREATE], 1);
}

static int take_defaults(struct project_record *r, const void *context, UNUSED struct error *err)
{
	r->defaults = *(const struct sandbox_resources *)context;
	return 0;
}

static void set_defaults(struct harness *h, const struct sandbox_resources *defaults)
{
	const struct project_edit edit = {PROJECT, take_defaults, defaults};
	struct project_record ignored;
	struct error err = {0};

	assert_done(store_project_edit(h->store, &h->arena, &edit, &ignored, &err));
}

static void resources_come_from_the_request_then_the_project_then_the_platform(void **state)
{
	struct harness *h = *state;
	const struct sandbox_resources project = {.memory_mb = 128, .disk_mb = 64};
	struct sandbox_record r;

	h->config.caps.cpu = 4;
	set_defaults(h, &project);
	r = create_with(h, (struct fleet_create){.resources = {.cpu = 8, .disk_mb = 32}});
	assert_true(r.resources.cpu == 4);
	assert_int_equal(r.resources.memory_mb, 128);
	assert_int_equal(r.resources.disk_mb, 32);
	assert_int_equal(r.resources.pids, 512);
}

/* The store is changed as by another server: nobody tells this one. */
static void a_project_that_was_changed_elsewhere_is_known_at_the_next_create(void **state)
{
	struct harness *h = *state;
	const struct sandbox_resources defaults = {.memory_mb = 96};

	assert_int_not_equal(create(h).resources.memory_mb, 96);
	set_defaults(h, &defaults);
	assert_int_equal(create(h).resources.memory_mb, 96);
	assert_int_equal(create(h).resources.memory_mb, 96);
	assert_int_equal(h->fake.sandboxes.count, 3);
}

static void labels_and_environment_are_kept_as_json(void **state)
{
	struct harness *h = *state;
	struct json_pair labels[] = {{"team", "red \"x\""}, {"n", "1"}};
	struct json_pair env[] = {{"A", "b"}};
	struct sandbox_record r = create_with(
	        h, (struct fleet_create){.labels = {labels, 2, true}, .env = {env, 1, true}});

	assert_string_equal(r.labels_json, "{\"team\":\"red \\\"x\\\"\",\"n\":\"1\"}");
	assert_string_equal(r.env_json, "{\"A\":\"b\"}");
}

static void durations_are_the_requests_or_the_platforms(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create(h);

	assert_int_equal(r.timeouts.idle_reap_ms, 3600 * 1000);
	assert_int_equal(r.timeouts.lifetime_max_ms, 24 * 3600 * 1000);
	assert_int_equal(r.timeout_at, 0);
	r = create_with(h, (struct fleet_create){.persistent = true, .timeout_ms = 5000});
	assert_int_equal(r.timeouts.lifetime_max_ms, 24 * 3600 * 1000);
	assert_int_equal(r.timeout_at, r.created_at + 5000);
}

static void what_cannot_be_meant_is_refused_before_anything_is_made(void **state)
{
	struct harness *h = *state;
	struct json_pair bad_env[] = {{"A=B", "c"}};
	struct json_pair bad_label[] = {{"", "c"}}, own_label[] = {{"atoll.lease", "c"}};
	const struct fleet_create *const requests[] = {
	        REQUEST(.name = "-bad-"),
	        REQUEST(.resources = {.memory_mb = 1}),
	        REQUEST(.env = {bad_env, 1, true}),
	        REQUEST(.labels = {bad_label, 1, true}),
	        REQUEST(.timeout_ms = -1),
	        REQUEST(.timeouts.idle_reap_ms = INT64_MAX),
	        REQUEST(.labels = {own_label, 1, true}),
	};

	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		struct error err = {0};
		struct sandbox_record r;

		assert_refused(fleet_create(h->fleet, &h->arena, requests[i], &r, &err),
		               ERROR_INVALID);
	}
	assert_int_equal(h->fake.calls[CALL_CREATE], 0);
}

static void unknown_templates_and_projects_are_not_found(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	assert_refused(fleet_create(h->fleet, &h->arena, REQUEST(.template = "nothing"), &r, &err),
	               ERROR_NOT_FOUND);
	assert_refused(fleet_create(h->fleet, &h->arena,
	                            &(struct fleet_create){.project_id = "nobody"}, &r, &err),
	               ERROR_NOT_FOUND);
}

static void a_name_is_taken_while_its_sandbox_lives(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create_with(h, (struct fleet_create){.name = "box"});

	assert_refused(fleet_create(h->fleet, &h->arena, REQUEST(.name = "box"), &r, &err),
	               ERROR_CONFLICT);
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, "box"},
	                         SANDBOX_REASON_USER, &err));
	r = create_with(h, (struct fleet_create){.name = "box"});
	assert_string_equal(r.name, "box");
}

static void a_project_has_at_most_sandboxes_max(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	h->config.sandboxes_max = 2;
	create(h);
	create(h);
	assert_refused(fleet_create(h->fleet, &h->arena, REQUEST(), &r, &err), ERROR_LIMIT);
	assert_int_equal(h->fake.calls[CALL_CREATE], 2);
}

static void a_network_that_cannot_be_blocked_is_refused(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_BLOCK_NETWORK;
	assert_refused(fleet_create(h->fleet, &h->arena, REQUEST(.internet = 0), &r, &err),
	               ERROR_UNSUPPORTED);
	assert_done(fleet_create(h->fleet, &h->arena, REQUEST(.internet = 1), &r, &err));
	assert_int_equal(r.network, SANDBOX_NETWORK_INTERNET);
}

static void a_failed_create_can_be_read_and_leaves_nothing_with_the_provider(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	fake_fail(&h->fake, CALL_CREATE, true);
	h->fake.leaves_remains = true;
	assert_refused(fleet_create(h->fleet, &h->arena, REQUEST(.name = "box"), &r, &err),
	               ERROR_SYSTEM);
	assert_non_null(strstr(err.text, "on purpose"));
	r = find(h, "box");
	assert_int_equal(r.actual, SANDBOX_FAILED);
	assert_int_equal(r.reason, SANDBOX_REASON_ERROR);
	assert_non_null(strstr(r.last_event, "on purpose"));
	assert_string_equal(fake_has(&h->fake, r.id), "nothing");
	assert_int_equal(fleet_counts_get(h->fleet).create_failed, 1);
	fake_fail(&h->fake, CALL_CREATE, false);
	create_with(h, (struct fleet_create){.name = "box"});
}

static void without_waiting_the_answer_is_pending_and_a_worker_goes_on(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	fake_gate(&h->fake, true);
	assert_done(fleet_create(h->fleet, &h->arena, LATER, &r, &err));
	assert_int_equal(r.actual, SANDBOX_PENDING);
	fake_wait_at_gate(&h->fake);
	assert_int_equal(find(h, r.id).actual, SANDBOX_CREATING);
	fake_gate(&h->fake, false);
	harness_drain(h);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
}

static void without_waiting_a_failure_is_in_the_row(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	fake_fail(&h->fake, CALL_CREATE, true);
	assert_done(fleet_create(h->fleet, &h->arena, LATER, &r, &err));
	harness_drain(h);
	r = find(h, r.id);
	assert_int_equal(r.actual, SANDBOX_FAILED);
	assert_non_null(strstr(r.last_event, "on purpose"));
}

static void a_full_queue_is_told_and_leaves_no_pending_row(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;
	struct fleet_counts counts;
	unsigned refused = 0;

	fake_gate(&h->fake, true);
	for (unsigned i = 0; i < 30; i++) {
		err = (struct error){0};
		if (fleet_create(h->fleet, &h->arena, LATER, &r, &err) < 0) {
			assert_int_equal(err.code, ERROR_LIMIT);
			refused++;
		}
	}
	assert_true(refused > 0);
	fake_gate(&h->fake, false);
	harness_drain(h);
	counts = fleet_counts_get(h->fleet);
	assert_int_equal(counts.by_state[SANDBOX_FAILED], refused);
	assert_int_equal(counts.by_state[SANDBOX_STARTED], 30 - refused);
	assert_int_equal(counts.by_state[SANDBOX_PENDING], 0);
}

#define THREADS 8

static void *create_some(void *argument)
{
	struct harness *h = argument;
	AUTO(arena_done) struct arena arena = {0};

	for (unsigned i = 0; i < 10; i++) {
		struct error err = {0};
		struct sandbox_record r;

		if (fleet_create(h->fleet, &arena, REQUEST(), &r, &err) < 0 ||
		    fleet_delete(h->fleet, &arena, &(struct fleet_ref){PROJECT, r.id},
		                 SANDBOX_REASON_USER, &err) < 0)
			return argument;
	}
	return NULL;
}

static void *create_at_gate(void *context)
{
	struct harness *h = context;
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record r;
	struct error err = {0};

	(void)!fleet_create(h->fleet, &arena, REQUEST(.template = "host"), &r, &err);
	return NULL;
}

/* For minutes, when its sandbox does not answer. */
static void a_call_that_stays_inside_holds_up_no_other_stop(void **state)
{
	struct harness *h = *state;
	struct fleet_stop how = {.for_good = true};
	struct fleet_stopped counts;
	struct error err = {0};
	pthread_t thread;
	int result;

	for (unsigned i = 0; i < 3; i++)
		(void)create_with(h, (struct fleet_create){.template = "host"});
	fake_gate(&h->fake, true);
	assert_int_equal(pthread_create(&thread, NULL, create_at_gate, h), 0);
	fake_wait_at_gate(&h->fake);
	how.deadline = deadline_after(1000);
	result = fleet_stop_all(h->fleet, &how, &counts, &err);
	fake_gate(&h->fake, false);
	(void)pthread_join(thread, NULL);
	assert_done(result);
	assert_int_equal(counts.stopped, 3);
	assert_int_equal(counts.left, 1);
	how.deadline = deadline_after(10000);
	assert_done(fleet_stop_all(h->fleet, &how, &counts, &err));
	assert_int_equal(counts.stopped, 1);
	assert_int_equal(counts.left, 0);
}

static void many_creators_and_deleters_leave_nothing(void **state)
{
	struct harness *h = *state;
	pthread_t threads[THREADS];
	struct fleet_counts counts;

	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, create_some, h), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	counts = fleet_counts_get(h->fleet);
	assert_int_equal(counts.created, THREADS * 10);
	assert_int_equal(counts.deleted, THREADS * 10);
	assert_int_equal(counts.by_state[SANDBOX_DELETED], THREADS * 10);
	assert_int_equal(h->fake.sandboxes.count, 0);
}

int main(void)
{
	return RUN_EACH(EACH(a_created_sandbox_is_started_and_says_how_long_it_took),
	                EACH(the_usual_create_costs_two_changes_of_its_row),
	                EACH(only_what_is_to_last_waits_for_the_disk),
	                EACH(what_was_begun_goes_when_its_row_cannot_be_written),
	                EACH(what_is_refused_is_not_begun),
	                EACH(resources_come_from_the_request_then_the_project_then_the_platform),
	                EACH(a_project_that_was_changed_elsewhere_is_known_at_the_next_create),
	                EACH(labels_and_environment_are_kept_as_json),
	                EACH(durations_are_the_requests_or_the_platforms),
	                EACH(what_cannot_be_meant_is_refused_before_anything_is_made),
	                EACH(unknown_templates_and_projects_are_not_found),
	                EACH(a_name_is_taken_while_its_sandbox_lives),
	                EACH(a_project_has_at_most_sandboxes_max),
	                EACH(a_network_that_cannot_be_blocked_is_refused),
	                EACH(a_failed_create_can_be_read_and_leaves_nothing_with_the_provider),
	                EACH(without_waiting_the_answer_is_pending_and_a_worker_goes_on),
	                EACH(without_waiting_a_failure_is_in_the_row),
	                EACH(a_full_queue_is_told_and_leaves_no_pending_row),
	                EACH(a_call_that_stays_inside_holds_up_no_other_stop),
	                EACH(many_creators_and_deleters_leave_nothing));
}
