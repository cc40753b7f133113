/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"

#include "store/events.h"
#include "store/webhooks.h"

static struct webhook_record sample_webhook(const char *id)
{
	return (struct webhook_record){.id = id,
	                               .project_id = PROJECT,
	                               .url = "https://example.org/",
	                               .secret = "whsec_secret",
	                               .patterns = "sandbox.*",
	                               .enabled = true,
	                               .created_at = NOW,
	                               .updated_at = NOW};
}

static struct delivery_record sample_delivery(const char *id, int64_t sequence)
{
	return (struct delivery_record){.id = id,
	                                .webhook_id = "hook",
	                                .sequence = sequence,
	                                .kind = "sandbox.started",
	                                .body = "{}",
	                                .created_at = NOW,
	                                .next_at = NOW};
}

static void insert_webhook(struct store *s, const char *id)
{
	struct error err = {0};
	struct webhook_record r = sample_webhook(id);

	assert_done(store_webhook_insert(s, &r, 0, &err));
}

static void dispatch(struct store *s, int64_t to, const struct delivery_record *items, size_t count)
{
	struct error err = {0};
	struct webhook_dispatch d = {.to = to, .items = items, .count = count};

	assert_done(store_webhook_cursor(s, &d.from, &err));
	assert_done(store_webhook_dispatch(s, &d, &err));
}

static void add_event(struct store *s)
{
	struct error err = {0};

	assert_done(store_event_add(
	        s,
	        &(struct event_record){.at = NOW, .project_id = PROJECT, .kind = "sandbox.started"},
	        &err));
}

static void a_webhook_comes_back_as_it_went_in_to_its_project_alone(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct webhook_record found;
	struct webhook_list list;

	add_event(*state);
	insert_webhook(*state, "hook");
	assert_done(store_webhook_find(*state, &a, PROJECT, "hook", &found, &err));
	assert_string_equal(found.url, "https://example.org/");
	assert_string_equal(found.patterns, "sandbox.*");
	assert_true(found.enabled);
	/* the event of its own making counts as told */
	assert_int_equal(found.after, 2);
	assert_refused(store_webhook_find(*state, &a, "other", "hook", &found, &err),
	               ERROR_NOT_FOUND);
	assert_done(store_webhook_list(*state, &a, "other", &list, &err));
	assert_int_equal(list.count, 0);
	assert_done(store_webhook_list(*state, &a, NULL, &list, &err));
	assert_int_equal(list.count, 1);
	assert_refused(store_webhook_remove(*state, "other", "hook", &err), ERROR_NOT_FOUND);
	assert_done(store_webhook_remove(*state, PROJECT, "hook", &err));
	assert_refused(store_webhook_remove(*state, PROJECT, "hook", &err), ERROR_NOT_FOUND);
}

static void a_project_has_at_most_so_many_webhooks(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct webhook_record r = sample_webhook("two");
	struct webhook_list list;

	insert_webhook(*state, "one");
	assert_refused(store_webhook_insert(*state, &r, 1, &err), ERROR_LIMIT);
	assert_done(store_webhook_list(*state, &a, PROJECT, &list, &err));
	assert_int_equal(list.count, 1);
	assert_done(store_webhook_insert(*state, &r, 2, &err));
}

static void one_that_is_enabled_again_begins_with_what_comes_then(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct webhook_record r = sample_webhook("hook");

	insert_webhook(*state, "hook");
	r.enabled = false;
	r.state_text = "by hand";
	assert_done(store_webhook_update(*state, &r, &err));
	add_event(*state);
	assert_done(store_webhook_find(*state, &a, PROJECT, "hook", &r, &err));
	assert_string_equal(r.state_text, "by hand");
	assert_int_equal(r.after, 1);
	r.enabled = true;
	assert_done(store_webhook_update(*state, &r, &err));
	assert_done(store_webhook_find(*state, &a, PROJECT, "hook", &r, &err));
	assert_int_equal(r.after, 4);
	add_event(*state);
	r.url = "https://example.net/";
	assert_done(store_webhook_update(*state, &r, &err));
	assert_done(store_webhook_find(*state, &a, PROJECT, "hook", &r, &err));
	assert_int_equal(r.after, 4);
	r.project_id = "other";
	assert_refused(store_webhook_update(*state, &r, &err), ERROR_NOT_FOUND);
}

static void events_are_looked_at_by_one_server_and_with_the_webhooks_of_now(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct delivery_record items[] = {sample_delivery("d1", 1), sample_delivery("d2", 2)};
	struct webhook_dispatch d = {.to = 2, .items = items, .count = 2};
	struct delivery_list list;

	assert_done(store_webhook_cursor(*state, &d.from, &err));
	insert_webhook(*state, "hook");
	assert_refused(store_webhook_dispatch(*state, &d, &err), ERROR_CONFLICT);
	assert_done(store_webhook_cursor(*state, &d.from, &err));
	assert_done(store_webhook_dispatch(*state, &d, &err));
	assert_refused(store_webhook_dispatch(*state, &d, &err), ERROR_CONFLICT);
	assert_done(store_webhook_cursor(*state, &d.from, &err));
	assert_int_equal(d.from.sequence, 2);
	assert_done(store_delivery_list(*state, &a,
	                                &(struct delivery_page){.webhook_id = "hook", .limit = 9},
	                                &list, &err));
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].id, "d2");
	assert_int_equal(list.items[0].state, DELIVERY_WAITING);
}

static void what_a_dead_server_was_at_is_due_at_its_next_start(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct delivery_record items[] = {sample_delivery("d2", 2), sample_delivery("d1", 1)};
	struct delivery_claim claim = {"d1", 0, NOW + 100, "here"};
	struct delivery_record found;

	insert_webhook(*state, "hook");
	dispatch(*state, 2, items, 2);
	assert_done(store_delivery_claim(*state, &claim, &err));
	claim = (struct delivery_claim){"d2", 0, NOW + 100, "there"};
	assert_done(store_delivery_claim(*state, &claim, &err));
	assert_refused(store_delivery_next(*state, &a, "hook", NOW, &found, &err), ERROR_NOT_FOUND);
	assert_done(store_delivery_release(*state, "elsewhere", NOW, &err));
	assert_refused(store_delivery_next(*state, &a, "hook", NOW, &found, &err), ERROR_NOT_FOUND);
	assert_done(store_delivery_release(*state, "there", NOW, &err));
	assert_done(store_delivery_next(*state, &a, "hook", NOW, &found, &err));
	assert_string_equal(found.id, "d2");
	assert_int_equal(found.attempts, 1);
	/* One that waits for another attempt keeps its time. */
	assert_done(store_delivery_end(*state,
	                               &(struct delivery_end){.id = "d1",
	                                                      .attempts = 1,
	                                                      .state = DELIVERY_WAITING,
	                                                      .error = "no",
	                                                      .next_at = NOW + 50,
	                                                      .now = NOW},
	                               &err));
	assert_done(store_delivery_release(*state, "here", NOW, &err));
	claim = (struct delivery_claim){"d2", 1, NOW + 100, "there"};
	assert_done(store_delivery_claim(*state, &claim, &err));
	assert_refused(store_delivery_next(*state, &a, "hook", NOW, &found, &err), ERROR_NOT_FOUND);
}

static void an_attempt_belongs_to_the_one_who_counted_it(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct delivery_record items[] = {sample_delivery("d2", 2), sample_delivery("d1", 1)};
	struct delivery_claim claim = {.id = "d1", .attempts = 0, .until = NOW + 100};
	struct delivery_end end = {.id = "d1",
	                           .attempts = 1,
	                           .state = DELIVERY_WAITING,
	                           .status = 500,
	                           .error = "no",
	                           .next_at = NOW + 50,
	                           .now = NOW};
	struct delivery_record found;
	int64_t at;

	insert_webhook(*state, "hook");
	dispatch(*state, 2, items, 2);
	assert_done(store_delivery_next(*state, &a, "hook", NOW, &found, &err));
	assert_string_equal(found.id, "d1");
	assert_refused(store_delivery_next(*state, &a, "hook", NOW - 1, &found, &err),
	               ERROR_NOT_FOUND);
	assert_done(store_delivery_claim(*state, &claim, &err));
	assert_refused(store_delivery_claim(*state, &claim, &err), ERROR_CONFLICT);
	assert_done(store_delivery_next(*state, &a, "hook", NOW, &found, &err));
	assert_string_equal(found.id, "d2");
	/* Its holder has gone without a word. */
	assert_done(store_delivery_next(*state, &a, "hook", NOW + 100, &found, &err));
	assert_string_equal(found.id, "d1");
	assert_int_equal(found.attempts, 1);
	assert_done(store_delivery_end(*state, &end, &err));
	assert_done(store_delivery_next(*state, &a, "hook", NOW + 50, &found, &err));
	assert_int_equal(found.status, 500);
	assert_string_equal(found.error, "no");
	claim = (struct delivery_claim){.id = "d1", .attempts = 1, .until = NOW + 100};
	assert_done(store_delivery_claim(*state, &claim, &err));
	assert_refused(store_delivery_end(*state, &end, &err), ERROR_CONFLICT);
	end.attempts = 2;
	end.state = DELIVERY_DELIVERED;
	assert_done(store_delivery_end(*state, &end, &err));
	assert_refused(store_delivery_end(*state, &end, &err), ERROR_CONFLICT);
	assert_done(store_delivery_next_at(*state, "hook", &at, &err));
	assert_int_equal(at, NOW);
	assert_done(store_delivery_next_at(*state, "other", &at, &err));
	assert_int_equal(at, 0);
}

static void a_dead_delivery_is_listed_retried_and_purged(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct delivery_record item = sample_delivery("d1", 1), found;
	struct delivery_end end = {
	        .id = "d1", .attempts = 0, .state = DELIVERY_DEAD, .now = NOW, .error = ""};
	struct delivery_list list;
	struct webhook_record hook;
	const struct delivery_page dead = {.webhook_id = "hook", .state = "dead", .limit = 10};

	insert_webhook(*state, "hook");
	dispatch(*state, 1, &item, 1);
	assert_done(store_delivery_end(*state, &end, &err));
	assert_done(store_webhook_find(*state, &a, PROJECT, "hook", &hook, &err));
	assert_int_equal(hook.dead, 1);
	assert_int_equal(hook.waiting, 0);
	assert_done(store_delivery_list(*state, &a, &dead, &list, &err));
	assert_int_equal(list.count, 1);
	assert_refused(
	        store_delivery_retry(*state, &(struct delivery_ref){"other", "d1", NOW + 1}, &err),
	        ERROR_NOT_FOUND);
	assert_done(
	        store_delivery_retry(*state, &(struct delivery_ref){"hook", "d1", NOW + 1}, &err));
	assert_done(store_delivery_next(*state, &a, "hook", NOW + 1, &found, &err));
	assert_int_equal(found.attempts, 0);
	assert_done(store_delivery_end(*state, &end, &err));
	assert_done(store_delivery_purge(*state, &(struct delivery_retention){NOW + 9, NOW}, &err));
	assert_done(store_delivery_list(*state, &a, &dead, &list, &err));
	assert_int_equal(list.count, 1);
	assert_done(store_delivery_purge(*state, &(struct delivery_retention){NOW, NOW + 1}, &err));
	assert_done(store_delivery_list(*state, &a, &dead, &list, &err));
	assert_int_equal(list.count, 0);
}

static void all_dead_deliveries_of_a_webhook_are_retried(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct delivery_record items[] = {sample_delivery("d1", 1), sample_delivery("d2", 2),
	                                  sample_delivery("d3", 3)};
	struct delivery_end end = {.attempts = 0, .state = DELIVERY_DEAD, .now = NOW, .error = ""};
	struct delivery_record found;
	struct webhook_record hook;

	insert_webhook(*state, "hook");
	dispatch(*state, 3, items, 3);
	for (size_t i = 0; i < 2; i++) {
		end.id = items[i].id;
		assert_done(store_delivery_end(*state, &end, &err));
	}
	assert_int_equal(
	        store_delivery_retry_dead(*state, &(struct delivery_ref){"other", "", NOW}, &err),
	        0);
	assert_int_equal(store_delivery_retry_dead(
	                         *state, &(struct delivery_ref){"hook", "", NOW + 1}, &err),
	                 2);
	assert_done(store_webhook_find(*state, &a, PROJECT, "hook", &hook, &err));
	assert_int_equal(hook.dead, 0);
	assert_int_equal(hook.waiting, 3);
	assert_done(store_delivery_next(*state, &a, "hook", NOW + 1, &found, &err));
	assert_string_equal(found.id, "d1");
	assert_int_equal(found.attempts, 0);
}

static void the_deliveries_of_a_webhook_go_with_it(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct delivery_record item = sample_delivery("d1", 1);
	struct delivery_list list;

	insert_webhook(*state, "hook");
	dispatch(*state, 1, &item, 1);
	assert_done(store_webhook_remove(*state, PROJECT, "hook", &err));
	assert_done(store_delivery_list(*state, &a,
	                                &(struct delivery_page){.webhook_id = "hook", .limit = 9},
	                                &list, &err));
	assert_int_equal(list.count, 0);
}

static const struct CMUnitTest tests[] = {
        EACH(a_webhook_comes_back_as_it_went_in_to_its_project_alone),
        EACH(a_project_has_at_most_so_many_webhooks),
        EACH(one_that_is_enabled_again_begins_with_what_comes_then),
        EACH(events_are_looked_at_by_one_server_and_with_the_webhooks_of_now),
        EACH(what_a_dead_server_was_at_is_due_at_its_next_start),
        EACH(an_attempt_belongs_to_the_one_who_counted_it),
        EACH(a_dead_delivery_is_listed_retried_and_purged),
        EACH(all_dead_deliveries_of_a_webhook_are_retried),
        EACH(the_deliveries_of_a_webhook_go_with_it),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
