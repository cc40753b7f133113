/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"

#include "store/activity.h"
#include "store/events.h"
#include "store/keys.h"

static struct activity_list list_of(struct store *s, struct arena *a, struct activity_page page)
{
	struct error err = {0};
	struct activity_list list;

	if (page.limit == 0)
		page.limit = 100;
	assert_done(store_activity_list(s, a, &page, &list, &err));
	return list;
}

static struct activity_record sample(const char *project, const char *sandbox)
{
	return (struct activity_record){.at = NOW,
	                                .written_at = NOW,
	                                .project_id = project,
	                                .sandbox_id = sandbox,
	                                .kind = ACTIVITY_COMMAND,
	                                .operation = "exec",
	                                .arguments = "true",
	                                .exit_code = -1};
}

static void add(struct store *s, const struct activity_record *r)
{
	const struct activity_batch batch = {&r, 1};
	struct error err = {0};

	assert_done(store_activity_add(s, &batch, &err));
}

static void a_row_is_read_as_it_was_written(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct activity_record r = {.at = NOW,
	                            .written_at = NOW + 5,
	                            .project_id = PROJECT,
	                            .sandbox_id = "box",
	                            .kind = ACTIVITY_TOOL,
	                            .operation = "bash",
	                            .arguments = "{\"command\":\"é\"}",
	                            .user_id = "ann",
	                            .key_id = "key",
	                            .conversation = "c1",
	                            .outcome = ACTIVITY_FAILED,
	                            .exit_code = 137,
	                            .error = "out of memory",
	                            .duration_ms = 12,
	                            .output_bytes = 3,
	                            .head = "AAE=",
	                            .tail = "",
	                            .encoding = "base64",
	                            .artifacts_json = "[]"};
	struct activity_list list;

	add(*state, &r);
	list = list_of(*state, &a, (struct activity_page){.limit = 10});
	assert_int_equal(list.count, 1);
	assert_true(list.items[0].sequence > 0);
	assert_int_equal(list.items[0].kind, ACTIVITY_TOOL);
	assert_int_equal(list.items[0].outcome, ACTIVITY_FAILED);
	assert_int_equal(list.items[0].exit_code, 137);
	assert_int_equal(list.items[0].written_at, NOW + 5);
	assert_string_equal(list.items[0].arguments, r.arguments);
	assert_string_equal(list.items[0].user_id, "ann");
	assert_string_equal(list.items[0].encoding, "base64");
	assert_string_equal(list.items[0].artifacts_json, "[]");
}

static void rows_are_filtered_and_come_in_pages_of_both_directions(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct activity_record r = sample(PROJECT, "box");
	struct activity_list list;
	struct activity_page page = {.limit = 0};

	add(*state, &r);
	r.kind = ACTIVITY_FILE;
	r.user_id = "ann";
	add(*state, &r);
	r = sample("other", "there");
	r.key_id = "k2";
	r.conversation = "c";
	add(*state, &r);
	assert_int_equal(list_of(*state, &a, page).count, 3);
	page.filter = (struct activity_filter){.project_id = PROJECT};
	assert_int_equal(list_of(*state, &a, page).count, 2);
	page.filter = (struct activity_filter){.sandbox_id = "there"};
	assert_int_equal(list_of(*state, &a, page).count, 1);
	page.filter = (struct activity_filter){.sandbox_id = "there", .project_id = PROJECT};
	assert_int_equal(list_of(*state, &a, page).count, 0);
	page.filter = (struct activity_filter){.kind = "file"};
	assert_int_equal(list_of(*state, &a, page).count, 1);
	page.filter = (struct activity_filter){.user_id = "ann"};
	assert_int_equal(list_of(*state, &a, page).count, 1);
	page.filter = (struct activity_filter){.key_id = "k2", .conversation = "c"};
	assert_int_equal(list_of(*state, &a, page).count, 1);
	list = list_of(*state, &a, (struct activity_page){.newest = true, .limit = 2});
	assert_int_equal(list.count, 2);
	assert_true(list.items[0].sequence < list.items[1].sequence);
	assert_string_equal(list.items[1].sandbox_id, "there");
	page = (struct activity_page){.after = list.items[0].sequence};
	assert_int_equal(list_of(*state, &a, page).count, 1);
}

static void a_batch_is_written_as_a_whole_or_not_at_all(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct activity_record first = sample(PROJECT, "box"), second = sample(PROJECT, "box");
	const struct activity_record *both[] = {&first, &second};
	const struct activity_batch batch = {both, 2};
	struct error err = {0};

	assert_done(store_activity_add(*state, &batch, &err));
	assert_int_equal(list_of(*state, &a, (struct activity_page){0}).count, 2);
}

static void old_and_too_many_rows_are_purged_and_the_newest_never(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct activity_record r = sample(PROJECT, "box");
	struct event_retention keep = {.before = NOW + 3, .count_max = 100};
	struct event_bounds bounds;
	struct error err = {0};
	bool more;

	for (int i = 0; i < 6; i++) {
		r.written_at = NOW + i;
		add(*state, &r);
	}
	assert_done(store_activity_purge(*state, &keep, &more, &err));
	assert_int_equal(list_of(*state, &a, (struct activity_page){0}).count, 3);
	keep = (struct event_retention){.before = 0, .count_max = 2};
	assert_done(store_activity_purge(*state, &keep, &more, &err));
	assert_int_equal(list_of(*state, &a, (struct activity_page){0}).count, 2);
	keep = (struct event_retention){.before = NOW + 100, .count_max = 1};
	assert_done(store_activity_purge(*state, &keep, &more, &err));
	assert_done(store_activity_bounds(*state, &bounds, &err));
	assert_int_equal(bounds.oldest, bounds.newest);
	assert_int_equal(list_of(*state, &a, (struct activity_page){0}).count, 1);
}

static void a_sandbox_is_trimmed_alone(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct activity_record r = sample(PROJECT, "box"), other = sample(PROJECT, "other");
	struct error err = {0};

	for (int i = 0; i < 5; i++) {
		add(*state, &r);
		add(*state, &other);
	}
	assert_done(store_activity_trim(*state, "box", 2, &err));
	assert_int_equal(
	        list_of(*state, &a, (struct activity_page){.filter = {.sandbox_id = "box"}}).count,
	        2);
	assert_int_equal(list_of(*state, &a, (struct activity_page){0}).count, 7);
	assert_done(store_activity_trim(*state, "box", 2, &err));
	assert_done(store_activity_trim(*state, "none", 2, &err));
	assert_int_equal(list_of(*state, &a, (struct activity_page){0}).count, 7);
}

static const struct CMUnitTest tests[] = {
        EACH(a_row_is_read_as_it_was_written),
        EACH(rows_are_filtered_and_come_in_pages_of_both_directions),
        EACH(a_batch_is_written_as_a_whole_or_not_at_all),
        EACH(old_and_too_many_rows_are_purged_and_the_newest_never),
        EACH(a_sandbox_is_trimmed_alone),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
