/* SPDX-License-Identifier: Apache-2.0 */
/* From an event to an answered post: step by step without the thread, then with it. */
#include "webhook/state.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "store/database.h"
#include "store/projects.h"
#include "unit.h"
#include "unit/receiver.h"

#define SECRET "whsec_0123456789abcdef"
#define RETRY_MS 60000
#define NODE "this-server"

struct fixture {
	struct config config;
	struct store *store;
	struct webhooks steps; /* has no thread: the test does its steps */
	struct receiver receiver;
	struct arena arena;
	unsigned hooks;
};
static struct fixture f;

static struct webhooks steps_of(struct fixture *at)
{
	return (struct webhooks){.config = &at->config,
	                         .store = at->store,
	                         .node = NODE,
	                         .mutex = PTHREAD_MUTEX_INITIALIZER,
	                         .wake = PTHREAD_COND_INITIALIZER};
}

static int set_up(void **state)
{
	static const char *const projects[] = {"a", "b"};
	struct error err = {0};

	(void)state;
	log_open("test", LOG_ERROR);
	f = (struct fixture){.config = {.webhook_tries = 3,
	                                .webhook_retry_ms = RETRY_MS,
	                                .webhook_allow_private = true}};
	assert_int_equal(store_open("sqlite::memory:", &f.store, &err), 0);
	for (unsigned i = 0; i < COUNT_OF(projects); i++) {
		const struct project_record p = {
		        .id = projects[i], .name = projects[i], .created_at = 1};

		assert_int_equal(store_project_insert(f.store, &p, &err), 0);
	}
	f.steps = steps_of(&f);
	receiver_open(&f.receiver);
	return 0;
}

static void steps_done(struct webhooks *w)
{
	worker_pool_stop(w->workers);
	while (w->finished) {
		struct delivery_attempt *a = w->finished;

		w->finished = a->next;
		attempt_free(a);
	}
	arena_done(&w->arena);
}

static int tear_down(void **state)
{
	(void)state;
	steps_done(&f.steps);
	receiver_close(&f.receiver);
	store_close(f.store);
	arena_done(&f.arena);
	return 0;
}

/* Returns the id of a new webhook of the project. */
static const char *add_hook(const char *project, const char *patterns)
{
	const char *id = arena_format(&f.arena, "hook%u", f.hooks++);
	const struct webhook_record r = {.id = id,
	                                 .project_id = project,
	                                 .url = f.receiver.url,
	                                 .secret = SECRET,
	                                 .patterns = patterns,
	                                 .enabled = true,
	                                 .created_at = 1,
	                                 .updated_at = 1};
	struct error err = {0};

	if (store_webhook_insert(f.store, &r, 0, &err) < 0)
		fail_msg("%s", err.text);
	return id;
}

static void add_event(const char *project, const char *kind)
{
	const struct event_record event = {.at = 1, .project_id = project, .kind = kind};
	struct error err = {0};

	assert_int_equal(store_event_add(f.store, &event, &err), 0);
}

static struct delivery_list deliveries(const char *hook)
{
	const struct delivery_page page = {.webhook_id = hook, .limit = 100};
	struct delivery_list list;
	struct error err = {0};

	assert_int_equal(store_delivery_list(f.store, &f.arena, &page, &list, &err), 0);
	return list;
}

/* The only one of the hook. */
static struct delivery_record delivery_of(const char *hook)
{
	struct delivery_list list = deliveries(hook);

	assert_int_equal(list.count, 1);
	return list.items[0];
}

static void dispatch(void)
{
	struct error err = {0};

	if (webhooks_dispatch(&f.steps, &err) < 0)
		fail_msg("%s", err.text);
}

static void await_attempt(struct webhooks *w)
{
	(void)pthread_mutex_lock(&w->mutex);
	while (!w->finished)
		(void)pthread_cond_wait(&w->wake, &w->mutex);
	(void)pthread_mutex_unlock(&w->mutex);
}

/* One attempt of the hook, from its claim to its end. */
static struct delivery_record attempt(const char *id)
{
	struct hook *hook = hook_find(&f.steps, id);
	struct delivery_attempt *done;
	struct error err = {0};

	assert_non_null(hook);
	assert_int_equal(delivery_begin(&f.steps, hook, &err), 0);
	assert_true(hook->is_busy);
	await_attempt(&f.steps);
	done = f.steps.finished;
	f.steps.finished = done->next;
	attempt_free(done);
	hook->is_busy = false;
	f.steps.under_way--;
	return delivery_of(id);
}

/* A hook of project a with one event that waits to be delivered. */
static const char *hook_with_event(void)
{
	const char *id = add_hook("a", "*");

	add_event("a", "sandbox.started");
	dispatch();
	return id;
}

/* ---- from events to deliveries ---- */

TEST(an_event_is_for_the_webhooks_of_its_project_that_want_it)
{
	const char *wants = add_hook("a", "key.created sandbox.*"), *other = add_hook("a", "key.*"),
	           *foreign = add_hook("b", "*");
	struct delivery_record d;

	add_event("a", "sandbox.started");
	dispatch();
	d = delivery_of(wants);
	assert_int_equal(d.state, DELIVERY_WAITING);
	assert_string_equal(d.kind, "sandbox.started");
	assert_non_null(strstr(d.body, "\"sandbox.started\""));
	assert_int_equal(deliveries(other).count, 0);
	assert_int_equal(deliveries(foreign).count, 0);
}

TEST(a_webhook_gets_no_event_from_before_it_was_made)
{
	const char *hook;

	add_event("a", "sandbox.started");
	hook = add_hook("a", "*");
	dispatch();
	assert_int_equal(deliveries(hook).count, 0);
}

TEST(an_event_is_dispatched_once)
{
	const char *hook = hook_with_event();

	dispatch();
	f.steps.is_loaded = false;
	dispatch();
	assert_int_equal(deliveries(hook).count, 1);
}

TEST(of_two_servers_one_dispatches_an_event)
{
	struct webhooks second = steps_of(&f);
	struct error err = {0};
	const char *hook = add_hook("a", "*");

	assert_int_equal(webhooks_dispatch(&second, &err), 0);
	dispatch();
	add_event("a", "sandbox.started");
	dispatch();
	assert_int_equal(webhooks_dispatch(&second, &err), 0);
	add_event("a", "sandbox.paused");
	assert_int_equal(webhooks_dispatch(&second, &err), 0);
	dispatch();
	assert_int_equal(deliveries(hook).count, 2);
	steps_done(&second);
}

TEST(events_beyond_a_page_are_dispatched_too)
{
	const char *hook = add_hook("a", "key.created");
	struct event_bounds bounds;
	struct error err = {0};

	for (int i = 0; i < 600; i++)
		add_event("a", "sandbox.started");
	add_event("a", "key.created");
	dispatch();
	assert_int_equal(deliveries(hook).count, 1);
	assert_int_equal(store_event_bounds(f.store, &bounds, &err), 0);
	assert_int_equal(f.steps.seen, bounds.newest);
}

TEST(a_webhook_that_lets_too_many_wait_is_disabled_and_says_why)
{
	const char *hook = hook_with_event();
	struct webhook_record found;
	struct error err = {0};

	hook_find(&f.steps, hook)->record.waiting = WAITING_MAX;
	add_event("a", "sandbox.paused");
	dispatch();
	assert_int_equal(store_webhook_find(f.store, &f.arena, "a", hook, &found, &err), 0);
	assert_false(found.enabled);
	assert_non_null(strstr(found.state_text, "10000 deliveries wait"));
	assert_int_equal(deliveries(hook).count, 1);
	add_event("a", "sandbox.resumed");
	dispatch();
	assert_int_equal(deliveries(hook).count, 1);
}

TEST(a_reload_keeps_what_is_under_way)
{
	const char *hook = hook_with_event();
	struct error err = {0};

	hook_find(&f.steps, hook)->is_busy = true;
	hook_find(&f.steps, hook)->failures = 2;
	(void)add_hook("a", "*");
	dispatch();
	assert_int_equal(f.steps.hook_count, 2);
	assert_true(hook_find(&f.steps, hook)->is_busy);
	assert_int_equal(hook_find(&f.steps, hook)->failures, 2);
	assert_null(hook_find(&f.steps, "unknown"));
	assert_int_equal(store_webhook_remove(f.store, "a", hook, &err), 0);
	dispatch();
	assert_null(hook_find(&f.steps, hook));
}

/* ---- attempts ---- */

TEST(a_delivery_is_a_signed_post_with_its_numbers)
{
	const char *hook = hook_with_event();
	struct delivery_record d = attempt(hook);
	char expected[WEBHOOK_SIGNATURE_SIZE], number[24];

	assert_int_equal(d.state, DELIVERY_DELIVERED);
	assert_int_equal(d.attempts, 1);
	assert_int_equal(d.status, 200);
	assert_string_equal(d.error, "");
	receiver_await(&f.receiver, 1);
	assert_memory_equal(f.receiver.requests[0], "POST / HTTP/1.1\r\n", 17);
	assert_string_equal(receiver_body(&f.receiver, 0), d.body);
	assert_string_equal(receiver_header(&f.receiver, 0, "Atoll-Delivery"), d.id);
	(void)snprintf(number, sizeof(number), "%d", (int)d.sequence);
	assert_string_equal(receiver_header(&f.receiver, 0, "Atoll-Event-Id"), number);
	webhook_sign(SECRET, strtol(receiver_header(&f.receiver, 0, "Atoll-Timestamp"), NULL, 10),
	             span_of(d.body), expected);
	assert_string_equal(receiver_header(&f.receiver, 0, "Atoll-Signature"), expected);
}

TEST(a_status_other_than_2xx_is_a_failure_that_is_tried_again_later)
{
	static const char *const answers[] = {"500 Oops\r\n\r\n", "404 Not Found\r\n\r\n"};

	for (unsigned i = 0; i < COUNT_OF(answers); i++) {
		const char *hook = hook_with_event();
		int64_t now = clock_unix_ms();
		struct delivery_record d;

		f.receiver.answers[f.receiver.answered] = answers[i];
		d = attempt(hook);
		assert_int_equal(d.state, DELIVERY_WAITING);
		assert_int_equal(d.status, strtol(answers[i], NULL, 10));
		assert_string_equal(d.error, "the status is not 2xx");
		assert_true(d.next_at >= now + RETRY_MS / 5 * 4);
	}
}

TEST(a_redirect_is_not_followed)
{
	const char *hook = hook_with_event();
	struct delivery_record d;
	char answer[128];

	(void)snprintf(answer, sizeof(answer), "302 Found\r\nLocation: %s/other\r\n\r\n",
	               f.receiver.url);
	f.receiver.answers[0] = answer;
	d = attempt(hook);
	assert_int_equal(d.state, DELIVERY_WAITING);
	assert_int_equal(d.status, 302);
	assert_int_equal(f.receiver.count, 1);
}

TEST(the_last_try_is_the_last)
{
	const char *hook = hook_with_event();
	struct delivery_record d;

	f.config.webhook_tries = 1;
	f.receiver.answers[0] = "503 Busy\r\n\r\n";
	d = attempt(hook);
	assert_int_equal(d.state, DELIVERY_DEAD);
	assert_true(d.ended_at > 0);
}

TEST(a_receiver_that_is_away_is_a_failure_without_a_status)
{
	const char *hook = hook_with_event();
	struct delivery_record d;

	(void)shutdown(f.receiver.listener, SHUT_RDWR);
	d = attempt(hook);
	assert_int_equal(d.state, DELIVERY_WAITING);
	assert_int_equal(d.status, 0);
	assert_string_not_equal(d.error, "");
}

TEST(a_private_address_gets_nothing_unless_it_is_allowed)
{
	const char *hook = hook_with_event();
	struct delivery_record d;

	f.config.webhook_allow_private = false;
	d = attempt(hook);
	assert_int_equal(d.state, DELIVERY_WAITING);
	assert_int_equal(d.status, 0);
	assert_int_equal(f.receiver.count, 0);
}

TEST(an_attempt_that_the_servers_stop_cuts_short_counts_for_nothing)
{
	const char *hook = hook_with_event();
	struct delivery_record d;

	f.config.webhook_tries = 1;
	atomic_store(&f.steps.is_cancelled, true);
	f.receiver.answers[0] = "500 Oops\r\n\r\n";
	d = attempt(hook);
	assert_int_equal(d.state, DELIVERY_WAITING);
	assert_true(d.next_at <= clock_unix_ms());
}

TEST(without_a_due_delivery_the_hook_is_looked_at_when_one_is)
{
	const char *hook = hook_with_event();
	struct hook *at = hook_find(&f.steps, hook);
	struct delivery_record d;
	struct error err = {0};

	f.receiver.answers[0] = "500 Oops\r\n\r\n";
	d = attempt(hook);
	assert_int_equal(delivery_begin(&f.steps, at, &err), 0);
	assert_false(at->is_busy);
	assert_int_equal(at->look_at, d.next_at);
	assert_int_equal(store_delivery_retry(f.store, &(struct delivery_ref){hook, d.id, 1}, &err),
	                 0);
	assert_int_equal(attempt(hook).state, DELIVERY_DELIVERED);
	assert_int_equal(delivery_begin(&f.steps, at, &err), 0);
	assert_int_equal(at->look_at, INT64_MAX);
}

TEST(a_webhook_that_is_removed_during_an_attempt_leaves_nothing)
{
	const char *hook = hook_with_event();
	struct error err = {0};

	receiver_hold(&f.receiver, true);
	assert_int_equal(delivery_begin(&f.steps, hook_find(&f.steps, hook), &err), 0);
	receiver_await(&f.receiver, 1);
	assert_int_equal(store_webhook_remove(f.store, "a", hook, &err), 0);
	receiver_hold(&f.receiver, false);
	await_attempt(&f.steps);
	assert_int_equal(deliveries(hook).count, 0);
}

/* ---- with the thread ---- */

static struct webhooks *open_thread(void)
{
	const struct webhooks_options options = {
	        .config = &f.config, .store = f.store, .node = NODE};
	struct webhooks *w;
	struct error err = {0};

	assert_int_equal(webhooks_open(&options, &w, &err), 0);
	return w;
}

/* The attempts of all requests but the last have ended: a hook has one attempt at a time. */
static struct delivery_record await_end_of_first(const char *hook, unsigned requests)
{
	struct delivery_list list;

	receiver_await(&f.receiver, requests);
	list = deliveries(hook);
	assert_true(list.count > 0);
	return list.items[list.count - 1];
}

TEST(events_of_a_webhook_arrive_in_their_order)
{
	static const char *const kinds[] = {"sandbox.created", "sandbox.started", "sandbox.paused",
	                                    "sandbox.deleted"};
	const char *hook = add_hook("a", "*");
	struct webhooks *w;

	for (unsigned i = 0; i < COUNT_OF(kinds); i++)
		add_event("a", kinds[i]);
	w = open_thread();
	assert_int_equal(await_end_of_first(hook, COUNT_OF(kinds)).state, DELIVERY_DELIVERED);
	webhooks_close(w);
	for (unsigned i = 0; i < COUNT_OF(kinds); i++)
		assert_non_null(strstr(receiver_body(&f.receiver, i), kinds[i]));
}

TEST(a_failure_is_retried_by_the_thread)
{
	const char *hook = add_hook("a", "*");
	struct delivery_record d;
	struct webhooks *w;

	f.config.webhook_retry_ms = 1;
	f.receiver.answers[0] = "500 Oops\r\n\r\n";
	add_event("a", "sandbox.started");
	w = open_thread();
	receiver_await(&f.receiver, 2);
	add_event("a", "sandbox.paused");
	d = await_end_of_first(hook, 3);
	webhooks_close(w);
	assert_int_equal(d.state, DELIVERY_DELIVERED);
	assert_int_equal(d.attempts, 2);
	assert_string_equal(receiver_body(&f.receiver, 0), receiver_body(&f.receiver, 1));
}

TEST(receivers_that_hang_leave_room_for_another_project)
{
	struct webhooks *w;
	unsigned of_b = 0;

	receiver_hold(&f.receiver, true);
	for (unsigned i = 0; i <= UNDER_WAY_PROJECT_MAX; i++)
		(void)add_hook("a", "*");
	(void)add_hook("b", "*");
	add_event("a", "sandbox.started");
	add_event("b", "sandbox.paused");
	w = open_thread();
	receiver_await(&f.receiver, UNDER_WAY_PROJECT_MAX + 1);
	for (unsigned i = 0; i <= UNDER_WAY_PROJECT_MAX; i++)
		of_b += strstr(receiver_body(&f.receiver, i), "sandbox.paused") != NULL;
	assert_int_equal(of_b, 1);
	receiver_hold(&f.receiver, false);
	receiver_await(&f.receiver, UNDER_WAY_PROJECT_MAX + 2);
	webhooks_close(w);
}

TEST(a_close_does_not_wait_for_a_receiver_that_hangs)
{
	const char *hook = add_hook("a", "*");
	struct webhooks *w;
	int64_t begun;

	receiver_hold(&f.receiver, true);
	add_event("a", "sandbox.started");
	w = open_thread();
	receiver_await(&f.receiver, 1);
	begun = clock_monotonic_ms();
	webhooks_close(w);
	assert_true(clock_monotonic_ms() - begun < 8000);
	assert_int_equal(delivery_of(hook).state, DELIVERY_WAITING);
	assert_true(delivery_of(hook).next_at <= clock_unix_ms());
}

TEST(what_the_last_process_had_under_way_is_repeated)
{
	const char *hook = hook_with_event();
	const struct delivery_claim claim = {
	        .id = delivery_of(hook).id, .until = INT64_MAX / 2, .node = NODE};
	struct delivery_record d;
	struct webhooks *w;
	struct error err = {0};

	assert_int_equal(store_delivery_claim(f.store, &claim, &err), 0);
	w = open_thread();
	add_event("a", "sandbox.paused");
	d = await_end_of_first(hook, 2);
	webhooks_close(w);
	assert_int_equal(d.state, DELIVERY_DELIVERED);
	assert_int_equal(d.attempts, 2);
}

TEST(no_webhooks_are_woken_and_closed_too)
{
	webhooks_wake(NULL);
	webhooks_close(NULL);
}

#define STEP(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(STEP(an_event_is_for_the_webhooks_of_its_project_that_want_it),
	           STEP(a_webhook_gets_no_event_from_before_it_was_made),
	           STEP(an_event_is_dispatched_once), STEP(of_two_servers_one_dispatches_an_event),
	           STEP(events_beyond_a_page_are_dispatched_too),
	           STEP(a_webhook_that_lets_too_many_wait_is_disabled_and_says_why),
	           STEP(a_reload_keeps_what_is_under_way),
	           STEP(a_delivery_is_a_signed_post_with_its_numbers),
	           STEP(a_status_other_than_2xx_is_a_failure_that_is_tried_again_later),
	           STEP(a_redirect_is_not_followed), STEP(the_last_try_is_the_last),
	           STEP(a_receiver_that_is_away_is_a_failure_without_a_status),
	           STEP(a_private_address_gets_nothing_unless_it_is_allowed),
	           STEP(an_attempt_that_the_servers_stop_cuts_short_counts_for_nothing),
	           STEP(without_a_due_delivery_the_hook_is_looked_at_when_one_is),
	           STEP(a_webhook_that_is_removed_during_an_attempt_leaves_nothing),
	           STEP(events_of_a_webhook_arrive_in_their_order),
	           STEP(a_failure_is_retried_by_the_thread),
	           STEP(receivers_that_hang_leave_room_for_another_project),
	           STEP(a_close_does_not_wait_for_a_receiver_that_hangs),
	           STEP(what_the_last_process_had_under_way_is_repeated),
	           CASE(no_webhooks_are_woken_and_closed_too));
}
