/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"

#include "store/approvals.h"
#include "store/decisions.h"
#include "store/events.h"
#include "store/sandboxes.h"

#define BOX "abcdefghij234567abcd"

static struct decision_record sample(const char *host)
{
	return (struct decision_record){.at = NOW,
	                                .sandbox_id = BOX,
	                                .verdict = "denied",
	                                .code = "host-not-allowed",
	                                .protocol = "tls",
	                                .host = host,
	                                .address = "",
	                                .rule = "",
	                                .credential = "github",
	                                .port = 443,
	                                .count = 2};
}

static void add(struct store *s, const struct decision_record *r, bool tells)
{
	const struct decision_addition item = {*r, tells};
	const struct decision_batch batch = {&item, 1};
	struct error err = {0};

	assert_done(store_decision_add(s, &batch, &err));
}

static struct decision_list list_of(struct store *s, struct arena *a, struct decision_page page)
{
	struct error err = {0};
	struct decision_list list;

	page.sandbox_id = page.sandbox_id ? page.sandbox_id : BOX;
	page.limit = page.limit ? page.limit : 100;
	assert_done(store_decision_list(s, a, &page, &list, &err));
	return list;
}

static void with_sandbox(struct store *s, const char *egress)
{
	struct sandbox_record r = sample_sandbox(BOX, "box");
	struct error err = {0};

	r.egress = egress;
	assert_done(store_sandbox_insert(s, &r, 0, &err));
}

static void a_row_is_read_as_it_was_written(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct decision_record r = sample("a.test");
	struct decision_list list;

	with_sandbox(*state, "-0.0.0.0/0");
	add(*state, &r, false);
	list = list_of(*state, &a, (struct decision_page){.limit = 10});
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].project_id, PROJECT);
	assert_string_equal(list.items[0].host, "a.test");
	assert_int_equal(list.items[0].port, 443);
	assert_int_equal(list.items[0].count, 2);
	r = sample("");
	r.code = "address-denied";
	r.address = "9.9.9.9";
	add(*state, &r, false);
	list = list_of(*state, &a, (struct decision_page){.host = "9.9.9.9"});
	assert_string_equal(list.items[0].rule, "0.0.0.0/0");
	assert_string_equal(list.items[0].credential, "github");
}

static void rows_of_unknown_sandboxes_are_skipped(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct decision_record r = sample("a.test");

	add(*state, &r, true);
	assert_int_equal(list_of(*state, &a, (struct decision_page){0}).count, 0);
}

static void bytes_are_added_to_the_newest_row_of_the_host(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct decision_record r = sample("a.test"), other = sample("b.test");
	struct decision_list list;

	with_sandbox(*state, "");
	add(*state, &r, false);
	add(*state, &r, false);
	add(*state, &other, false);
	r.count = 0;
	r.bytes_in = 7;
	r.bytes_out = 9;
	add(*state, &r, true);
	add(*state, &r, true);
	list = list_of(*state, &a, (struct decision_page){0});
	assert_int_equal(list.count, 3);
	assert_int_equal(list.items[0].bytes_in, 0);
	assert_int_equal(list.items[1].bytes_in, 14);
	assert_int_equal(list.items[1].bytes_out, 18);
	assert_int_equal(list.items[2].bytes_in, 0);
}

static void a_row_that_tells_adds_an_event(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct event_page page = {.sandbox_id = BOX, .pattern = "egress.*", .limit = 10};
	struct decision_record r = sample("a.test");
	struct event_list events;
	struct error err = {0};

	with_sandbox(*state, "");
	add(*state, &r, true);
	r.verdict = "allowed";
	r.code = "ok";
	add(*state, &r, true);
	add(*state, &r, false);
	assert_done(store_event_list(*state, &a, &page, &events, &err));
	assert_int_equal(events.count, 2);
	assert_string_equal(events.items[0].kind, "egress.denied");
	assert_string_equal(events.items[0].text, "a.test");
	assert_string_equal(events.items[1].kind, "egress.allowed");
}

static void a_refusal_in_the_mode_ask_asks_once(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct approval_filter pending = {PROJECT, "pending", NOW,        100,
	                                        NULL,    BOX,       ACCESS_TOOL};
	struct approval_list found;
	struct decision_record r;
	struct error err = {0};
	char host[32];

	with_sandbox(*state, "-0.0.0.0/0 ~ask");
	for (int i = 0; i < 2 * ACCESS_PENDING_MAX; i++) {
		(void)snprintf(host, sizeof(host), "n%d.test", i / 2);
		r = sample(host);
		add(*state, &r, true);
		if (i == 1) {
			assert_done(store_approval_list(*state, &a, &pending, &found, &err));
			assert_int_equal(found.count, 1);
			assert_string_equal(found.items[0].key_id, "");
		}
	}
	r = sample("more.test");
	add(*state, &r, true);
	assert_done(store_approval_list(*state, &a, &pending, &found, &err));
	assert_int_equal(found.count, ACCESS_PENDING_MAX);
}

static void rows_are_filtered_trimmed_and_purged(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct event_retention keep = {.before = NOW + 3, .count_max = 100};
	struct decision_record r = sample("a.test");
	struct error err = {0};
	bool more;

	with_sandbox(*state, "");
	for (int i = 0; i < 6; i++) {
		r.at = NOW + i;
		r.protocol = i % 2 ? "dns" : "tls";
		add(*state, &r, false);
	}
	assert_int_equal(list_of(*state, &a, (struct decision_page){.protocol = "dns"}).count, 3);
	assert_int_equal(list_of(*state, &a, (struct decision_page){.verdict = "allowed"}).count,
	                 0);
	assert_int_equal(list_of(*state, &a, (struct decision_page){.project_id = "other"}).count,
	                 0);
	assert_int_equal(
	        list_of(*state, &a, (struct decision_page){.newest = true, .limit = 1}).items[0].at,
	        NOW + 5);
	assert_done(store_decision_trim(*state, BOX, 4, &err));
	assert_int_equal(list_of(*state, &a, (struct decision_page){0}).count, 4);
	assert_done(store_decision_purge(*state, &keep, &more, &err));
	assert_int_equal(list_of(*state, &a, (struct decision_page){0}).count, 3);
	keep.before = NOW + 100;
	assert_done(store_decision_purge(*state, &keep, &more, &err));
	assert_int_equal(list_of(*state, &a, (struct decision_page){0}).count, 1);
}

static const struct CMUnitTest tests[] = {
        EACH(a_row_is_read_as_it_was_written),
        EACH(rows_of_unknown_sandboxes_are_skipped),
        EACH(bytes_are_added_to_the_newest_row_of_the_host),
        EACH(a_row_that_tells_adds_an_event),
        EACH(a_refusal_in_the_mode_ask_asks_once),
        EACH(rows_are_filtered_trimmed_and_purged),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
