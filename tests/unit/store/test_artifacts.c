/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"

#include "store/artifacts.h"
#include "store/events.h"
#include "store/usage.h"

#define A1 "aaaaaaaaaaaaaaaaaaaa"
#define A2 "bbbbbbbbbbbbbbbbbbbb"
#define A3 "cccccccccccccccccccc"
#define SANDBOX "ssssssssssssssssssss"

static const struct artifact_limits no_limits;

static struct artifact_record sample_artifact(const char *id)
{
	return (struct artifact_record){.id = id,
	                                .project_id = PROJECT,
	                                .key_id = "k",
	                                .sandbox_id = SANDBOX,
	                                .sandbox_name = "lab",
	                                .run = "r1",
	                                .node = "n1",
	                                .path = "/work/plot.png",
	                                .media_type = "image/png",
	                                .sha256 = "00ff",
	                                .secret = "s3",
	                                .process = 7,
	                                .job = "",
	                                .size_bytes = 1000,
	                                .created_at = NOW,
	                                .expires_at = NOW + 1000,
	                                .metered_at = NOW};
}

static void add(struct store *s, struct artifact_record r)
{
	struct error err = {0};

	assert_done(store_artifact_insert(s, &r, &no_limits, &err));
	assert_done(store_artifact_finish(s, &r, &err));
}

static size_t count_due(struct store *s, const struct artifact_due *due)
{
	AUTO(arena_done) struct arena a = {0};
	struct artifact_list list;
	struct error err = {0};

	assert_done(store_artifact_list_due(s, &a, due, &list, &err));
	return list.count;
}

static size_t count_events(struct store *s, const char *kind)
{
	AUTO(arena_done) struct arena a = {0};
	const struct event_page page = {.project_id = PROJECT, .pattern = kind, .limit = 100};
	struct event_list list;
	struct error err = {0};

	assert_done(store_event_list(s, &a, &page, &list, &err));
	return list.count;
}

static void an_artifact_is_seen_when_its_bytes_are_there(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct artifact_record r = sample_artifact(A1), found;
	struct error err = {0};

	assert_done(store_artifact_insert(*state, &r, &no_limits, &err));
	assert_refused(store_artifact_find(*state, &a, PROJECT, A1, &found, &err), ERROR_NOT_FOUND);
	assert_int_equal(count_events(*state, "artifact.*"), 0);
	r.size_bytes = 900;
	assert_done(store_artifact_finish(*state, &r, &err));
	assert_done(store_artifact_find(*state, &a, PROJECT, A1, &found, &err));
	assert_string_equal(found.path, "/work/plot.png");
	assert_string_equal(found.secret, "s3");
	assert_int_equal(found.size_bytes, 900);
	assert_int_equal(found.process, 7);
	assert_int_equal(found.expires_at, NOW + 1000);
	assert_int_equal(count_events(*state, "artifact.created"), 1);
	assert_refused(store_artifact_finish(*state, &r, &err), ERROR_NOT_FOUND);
	assert_refused(store_artifact_find(*state, &a, "other", A1, &found, &err), ERROR_NOT_FOUND);
}

static void a_list_is_of_a_project_a_sandbox_a_run_or_a_job(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct artifact_record second = sample_artifact(A2), third = sample_artifact(A3);
	struct artifact_filter filter = {.project_id = PROJECT, .limit = 2};
	struct artifact_list list;
	struct error err = {0};

	second.run = "r2";
	third.sandbox_id = "tttttttttttttttttttt";
	third.job = "j1";
	add(*state, sample_artifact(A1));
	add(*state, second);
	add(*state, third);
	assert_done(store_artifact_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].id, A3);
	filter.page = list.next_page;
	assert_done(store_artifact_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 1);
	assert_null(list.next_page);
	filter = (struct artifact_filter){.project_id = PROJECT, .sandbox_id = SANDBOX, .limit = 9};
	assert_done(store_artifact_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 2);
	filter.run = "r2";
	assert_done(store_artifact_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 1);
	filter.project_id = "other";
	assert_done(store_artifact_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 0);
	filter = (struct artifact_filter){.project_id = PROJECT, .job = "j1", .limit = 9};
	assert_done(store_artifact_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].job, "j1");
}

static void a_project_has_room_for_so_much_and_so_many(void **state)
{
	const struct artifact_limits bytes = {.bytes_max = 1500}, count = {.count_max = 1};
	struct artifact_record first = sample_artifact(A1), second = sample_artifact(A2);
	struct error err = {0};

	assert_done(store_artifact_insert(*state, &first, &bytes, &err));
	assert_refused(store_artifact_insert(*state, &second, &bytes, &err), ERROR_LIMIT);
	assert_refused(store_artifact_insert(*state, &second, &count, &err), ERROR_LIMIT);
	second.size_bytes = 500;
	assert_done(store_artifact_insert(*state, &second, &bytes, &err));
	assert_done(store_artifact_remove(*state, A1, &err));
	assert_done(store_artifact_insert(*state, &first, &bytes, &err));
	first.project_id = "nobody";
	first.id = A3;
	assert_refused(store_artifact_insert(*state, &first, &bytes, &err), ERROR_NOT_FOUND);
}

static void what_goes_is_told_once_and_stays_till_its_bytes_are_gone(void **state)
{
	const struct artifact_due due = {.node = "n1", .now = NOW};
	AUTO(arena_done) struct arena a = {0};
	struct artifact_record found;
	struct error err = {0};

	add(*state, sample_artifact(A1));
	assert_int_equal(count_due(*state, &due), 0);
	assert_done(store_artifact_retire(*state, A1, &err));
	assert_done(store_artifact_retire(*state, A1, &err));
	assert_refused(store_artifact_find(*state, &a, NULL, A1, &found, &err), ERROR_NOT_FOUND);
	assert_int_equal(count_events(*state, "artifact.deleted"), 1);
	assert_int_equal(count_due(*state, &due), 1);
	assert_done(store_artifact_remove(*state, A1, &err));
	assert_done(store_artifact_remove(*state, A1, &err));
	assert_int_equal(count_due(*state, &due), 0);
	assert_done(store_artifact_retire(*state, A1, &err));
}

static void what_expired_is_due_and_what_was_half_made_at_boot(void **state)
{
	struct artifact_record making = sample_artifact(A2), kept = sample_artifact(A3);
	struct artifact_due due = {.node = "n1", .now = NOW + 999};
	struct error err = {0};

	add(*state, sample_artifact(A1));
	assert_done(store_artifact_insert(*state, &making, &no_limits, &err));
	kept.expires_at = 0;
	add(*state, kept);
	assert_int_equal(count_due(*state, &due), 0);
	due.now = NOW + 1000;
	assert_int_equal(count_due(*state, &due), 1);
	due.is_boot = true;
	assert_int_equal(count_due(*state, &due), 2);
	due.node = "n2";
	assert_int_equal(count_due(*state, &due), 0);
}

static void an_hour_is_metered_once(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct usage_record row = {.id = "u",
	                                 .project_id = PROJECT,
	                                 .key_id = "k",
	                                 .sandbox_id = SANDBOX,
	                                 .run = "",
	                                 .reason = USAGE_STORAGE,
	                                 .hour = 1790000000000 / 3600000 * 3600000,
	                                 .storage_mib_s = 3600,
	                                 .usd_micro = 5,
	                                 .started_at = NOW,
	                                 .ended_at = NOW + 3600000};
	struct artifact_usage usage = {.rows = &row, .row_count = 1, .metered_at = NOW + 3600000};
	struct artifact_record found;
	struct balance_record balance;
	struct artifact_list list;
	struct error err = {0};

	add(*state, sample_artifact(A1));
	assert_done(store_artifact_list_unmetered(*state, &a, "n1", NOW + 1, &list, &err));
	assert_int_equal(list.count, 1);
	usage.seen = &list.items[0];
	assert_done(store_artifact_usage_write(*state, &usage, &err));
	assert_done(store_artifact_usage_write(*state, &usage, &err));
	assert_done(store_artifact_find(*state, &a, NULL, A1, &found, &err));
	assert_int_equal(found.metered_at, NOW + 3600000);
	assert_done(store_balance_find(*state, &a, PROJECT, &balance, &err));
	assert_int_equal(balance.spent_micro, 5);
	assert_done(store_artifact_list_unmetered(*state, &a, "n1", NOW + 1, &list, &err));
	assert_int_equal(list.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        EACH(an_artifact_is_seen_when_its_bytes_are_there),
	        EACH(a_list_is_of_a_project_a_sandbox_a_run_or_a_job),
	        EACH(a_project_has_room_for_so_much_and_so_many),
	        EACH(what_goes_is_told_once_and_stays_till_its_bytes_are_gone),
	        EACH(what_expired_is_due_and_what_was_half_made_at_boot),
	        EACH(an_hour_is_metered_once),
	};

	return each_store_run(tests, COUNT_OF(tests));
}
