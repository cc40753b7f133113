/* SPDX-License-Identifier: Apache-2.0 */
/* Orders, conditions and counts of lists of sandboxes, in each kind of database. */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "each_store.h"
#include "samples.h"
#include "store/keys.h"
#include "store/members.h"
#include "store/sandboxes.h"
#include "store/summary.h"

#define ROWS 12

/* Names of two kinds of letters, five times of activity, three states. */
static void insert_mixed(struct store *s)
{
	static const enum sandbox_state states[] = {SANDBOX_STARTED, SANDBOX_STOPPED,
	                                            SANDBOX_FAILED};
	static const char *const labels[] = {"{\"team\":\"Red\",\"n\":\"1\"}",
	                                     "{\"team\":\"blue\"}", "{}"};
	struct error err = {0};

	for (unsigned i = 0; i < ROWS; i++) {
		struct id id = id_new();
		char name[16];
		struct sandbox_record r = sample_sandbox(id.text, name);

		snprintf(name, sizeof(name), "%c-x-%u", i % 2 ? 'a' + (int)i : 'A' + (int)i, i);
		r.created_at = NOW + i / 3;
		r.last_activity_at = NOW + i * 7 % 5;
		r.actual = states[i % 3];
		r.labels_json = labels[i % 3];
		r.region = i < 4 ? "eu" : "us";
		r.key_id = "";
		r.user_id = i < 3 ? "ann@example.com" : "";
		assert_done(store_sandbox_insert(s, &r, 0, &err));
	}
}

static int compare_rows(const struct sandbox_filter *filter, const struct sandbox_record *a,
                        const struct sandbox_record *b)
{
	int result = 0;

	if (filter->order == SANDBOX_BY_NAME)
		result = strcmp(a->name, b->name);
	else if (filter->order == SANDBOX_BY_STATE)
		result = strcmp(sandbox_state_name(a->actual), sandbox_state_name(b->actual));
	else if (filter->order == SANDBOX_BY_ACTIVITY)
		result = (a->last_activity_at > b->last_activity_at) -
		         (a->last_activity_at < b->last_activity_at);
	else
		result = (a->created_at > b->created_at) - (a->created_at < b->created_at);
	result = result ? result : strcmp(a->id, b->id);
	return filter->ascending ? result : -result;
}

static void every_order_shows_each_row_once_in_order_page_by_page(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};

	insert_mixed(*state);
	for (unsigned order = 0; order < 2 * SANDBOX_ORDER_COUNT; order++) {
		struct sandbox_filter filter = {.project_id = PROJECT,
		                                .state = -1,
		                                .limit = 5,
		                                .order = order / 2,
		                                .ascending = order % 2};
		const struct sandbox_record *before = NULL;
		struct sandbox_list list;
		unsigned seen = 0;

		do {
			assert_done(store_sandbox_list(*state, &a, &filter, &list, &err));
			for (size_t i = 0; i < list.count; i++, seen++) {
				if (before)
					assert_true(compare_rows(&filter, before, &list.items[i]) <
					            0);
				before = &list.items[i];
			}
			filter.page = list.next_page;
		} while (filter.page);
		assert_int_equal(seen, ROWS);
	}
}

static void a_page_goes_on_where_it_ended_although_rows_come_and_go(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct sandbox_filter filter = {.project_id = PROJECT,
	                                .state = -1,
	                                .limit = 4,
	                                .order = SANDBOX_BY_NAME,
	                                .ascending = true};
	struct sandbox_list first, second;
	struct id id = id_new();
	struct sandbox_record early = sample_sandbox(id.text, "0-early");
	struct sandbox_move goes = sample_move(NULL, SANDBOX_STARTED, SANDBOX_DELETING);

	insert_mixed(*state);
	assert_done(store_sandbox_list(*state, &a, &filter, &first, &err));
	assert_done(store_sandbox_insert(*state, &early, 0, &err));
	goes.id = first.items[3].id;
	goes.from = first.items[3].actual;
	assert_done(store_sandbox_move(*state, &goes, &err));
	goes.from = SANDBOX_DELETING;
	goes.to = SANDBOX_DELETED;
	assert_done(store_sandbox_move(*state, &goes, &err));
	filter.page = first.next_page;
	assert_done(store_sandbox_list(*state, &a, &filter, &second, &err));
	assert_int_equal(second.count, 4);
	assert_true(strcmp(first.items[3].name, second.items[0].name) < 0);
}

static void the_page_of_another_order_is_refused(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	static const char *const pages[] = {"",
	                                    "name.",
	                                    "name.-",
	                                    "name.x",
	                                    "state.-aaaaaaaaaaaaaaaaaaaa",
	                                    "name.x-y",
	                                    "5-aaaaaaaaaaaaaaaaaaaa",
	                                    "activity.5-aaaaaaaaaaaaaaaaaaaa"};

	for (size_t i = 0; i < COUNT_OF(pages); i++) {
		struct error err = {0};
		const struct sandbox_filter filter = {.project_id = PROJECT,
		                                      .state = -1,
		                                      .limit = 1,
		                                      .order = SANDBOX_BY_NAME,
		                                      .page = pages[i]};
		struct sandbox_list list;

		assert_refused(store_sandbox_list(*state, &a, &filter, &list, &err), ERROR_INVALID);
	}
}

/* The list and the total agree. */
static int64_t count_found(struct store *s, struct sandbox_filter filter)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct sandbox_list list;
	int64_t total;

	filter.project_id = filter.project_id ? filter.project_id : PROJECT;
	filter.limit = 100;
	assert_done(store_sandbox_list(s, &a, &filter, &list, &err));
	assert_done(store_sandbox_total(s, &filter, &total, &err));
	assert_int_equal(total, (int64_t)list.count);
	return total;
}
#define FOUND(...) count_found(s, (struct sandbox_filter){.state = -1, __VA_ARGS__})

static void conditions_narrow_the_list_and_its_total_alike(void **state)
{
	struct store *s = *state;

	insert_mixed(s);
	assert_int_equal(FOUND(), ROWS);
	assert_int_equal(FOUND(.project_id = "other"), 0);
	assert_int_equal(FOUND(.states = "{\"started\":1,\"failed\":1}"), 8);
	assert_int_equal(FOUND(.states = "{}"), 0);
	assert_int_equal(FOUND(.region = "eu"), 4);
	assert_int_equal(FOUND(.created_by = "ann@example.com"), 3);
	assert_int_equal(FOUND(.providers = "{}"), 0);
	assert_int_equal(FOUND(.labels_json = "{\"team\":\"Red\",\"n\":\"1\"}"), 4);
	assert_int_equal(FOUND(.labels_json = "{\"team\":\"Red\"}", .label_key = "n"), 4);
	assert_int_equal(FOUND(.labels_json = "{\"team\":\"red\"}"), 0);
	assert_int_equal(FOUND(.region = "us", .states = "{\"stopped\":1}"), 3);
}

static void a_search_finds_parts_in_either_case_and_no_patterns(void **state)
{
	struct store *s = *state;
	AUTO(arena_done) struct arena a = {0};
	struct sandbox_filter one = {.project_id = PROJECT, .state = -1, .limit = 1};
	struct error err = {0};
	struct sandbox_list list;

	insert_mixed(s);
	assert_done(store_sandbox_list(s, &a, &one, &list, &err));
	assert_int_equal(FOUND(.search = "B-X-"), 1);
	assert_int_equal(FOUND(.search = "-x-1"), 3);
	assert_int_equal(FOUND(.search = "TEAM=red"), 4);
	assert_int_equal(FOUND(.search = "team"), 8);
	assert_int_equal(FOUND(.search = list.items[0].id + 1), 1);
	assert_int_equal(FOUND(.search = "%"), 0);
	assert_int_equal(FOUND(.search = "_"), 0);
	assert_int_equal(FOUND(.search = "\":\""), 0);
	assert_int_equal(FOUND(.search = "'; DROP TABLE sandboxes; --"), 0);
}

static void the_maker_of_a_sandbox_is_its_user_or_that_of_its_key(void **state)
{
	struct store *s = *state;
	AUTO(arena_done) struct arena a = {0};
	struct id by_key = id_new(), by_user = id_new();
	struct sandbox_record r = sample_sandbox(by_key.text, "by-key");
	const struct key_record key = {.id = "kaaaaaaaaaaaaaaaaaaa",
	                               .project_id = PROJECT,
	                               .user_id = "bob@example.com",
	                               .name = "bobs",
	                               .prefix = "atoll_bobs",
	                               .hash = {7},
	                               .created_at = NOW};
	const struct member_record bob = {
	        .project_id = PROJECT, .user_id = key.user_id, .role = "admin", .created_at = NOW};
	struct error err = {0};

	assert_done(store_member_insert(s, &bob, &err));
	assert_done(store_key_insert(s, &key, &err));
	r.key_id = key.id;
	r.user_id = "";
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	r = sample_sandbox(by_user.text, "by-user");
	r.key_id = "";
	r.user_id = "ann@example.com";
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	assert_done(store_sandbox_find(s, &a, PROJECT, by_key.text, &r, &err));
	assert_string_equal(r.user_id, "bob@example.com");
	assert_string_equal(r.key_id, key.id);
	assert_done(store_sandbox_find(s, &a, PROJECT, by_user.text, &r, &err));
	assert_string_equal(r.user_id, "ann@example.com");
	assert_int_equal(FOUND(.created_by = "bob@example.com"), 1);
	assert_int_equal(FOUND(.created_by = key.id), 1);
}

static void settings_are_written_in_the_version_that_was_read(void **state)
{
	struct store *s = *state;
	AUTO(arena_done) struct arena a = {0};
	struct id id = id_new(), other = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box"), taken;
	struct sandbox_settings settings = {.id = id.text, .name = "renamed", .labels_json = "{}"};
	struct error err = {0};

	taken = sample_sandbox(other.text, "taken");
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	assert_done(store_sandbox_insert(s, &taken, 0, &err));
	settings.version = 1;
	assert_done(store_sandbox_set(s, &a, &settings, &r, &err));
	assert_string_equal(r.name, "renamed");
	assert_int_equal(r.version, 2);
	settings.name = NULL;
	assert_refused(store_sandbox_set(s, &a, &settings, &r, &err), ERROR_CONFLICT);
	settings.version = 0;
	assert_done(store_sandbox_set(s, &a, &settings, &r, &err));
	assert_string_equal(r.name, "renamed");
	settings.name = "taken";
	assert_refused(store_sandbox_set(s, &a, &settings, &r, &err), ERROR_CONFLICT);
	settings.name = "renamed";
	assert_done(store_sandbox_set(s, &a, &settings, &r, &err));
	assert_int_equal(r.version, 4);
	settings.id = "aaaaaaaaaaaaaaaaaaaa";
	assert_refused(store_sandbox_set(s, &a, &settings, &r, &err), ERROR_NOT_FOUND);
}

static void a_summary_counts_what_a_project_has(void **state)
{
	struct store *s = *state;
	struct project_summary summary;
	struct error err = {0};

	insert_mixed(s);
	assert_done(store_summary(s, PROJECT, &summary, &err));
	assert_int_equal(summary.sandboxes[SANDBOX_STARTED], 4);
	assert_int_equal(summary.sandboxes[SANDBOX_STOPPED], 4);
	assert_int_equal(summary.sandboxes[SANDBOX_PAUSED], 0);
	assert_int_equal(summary.counts.volumes, 0);
	assert_int_equal(summary.counts.approvals_pending, 0);
	assert_done(store_summary(s, "other", &summary, &err));
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++)
		assert_int_equal(summary.sandboxes[i], 0);
}

static const struct CMUnitTest tests[] = {
        EACH(every_order_shows_each_row_once_in_order_page_by_page),
        EACH(a_page_goes_on_where_it_ended_although_rows_come_and_go),
        EACH(the_page_of_another_order_is_refused),
        EACH(conditions_narrow_the_list_and_its_total_alike),
        EACH(a_search_finds_parts_in_either_case_and_no_patterns),
        EACH(the_maker_of_a_sandbox_is_its_user_or_that_of_its_key),
        EACH(settings_are_written_in_the_version_that_was_read),
        EACH(a_summary_counts_what_a_project_has),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
