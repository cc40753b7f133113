/* SPDX-License-Identifier: Apache-2.0 */
#include "store/builds.h"

#include "each_store.h"
#include "store/snapshots.h"
#include "store/templates.h"

static struct build_record sample(const char *id, const char *name)
{
	return (struct build_record){.id = id,
	                             .project_id = PROJECT,
	                             .name = name,
	                             .source = "host",
	                             .step_count = 3,
	                             .exit_code = -1,
	                             .node = "here",
	                             .created_at = NOW};
}

static void a_build_that_has_ended_stays_as_it_is(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct build_record made = sample("baaaaaaaaaaaaaaaaaaa", "app"), found;
	struct error err = {0};

	assert_done(store_build_insert(*state, &made, &err));
	assert_refused(store_build_insert(*state, &made, &err), ERROR_CONFLICT);
	assert_done(store_build_find(*state, &a, PROJECT, made.id, &found, &err));
	assert_int_equal(found.state, BUILD_WAITING);
	assert_int_equal(found.exit_code, -1);
	assert_string_equal(found.source, "host");
	assert_refused(store_build_find(*state, &a, "others", made.id, &found, &err),
	               ERROR_NOT_FOUND);
	made.state = BUILD_BUILDING;
	made.step = 2;
	made.sandbox_id = "box";
	assert_done(store_build_update(*state, &made, &err));
	assert_refused(store_build_remove(*state, PROJECT, made.id, &err), ERROR_CONFLICT);
	made.state = BUILD_ERROR;
	made.message = "step 2 failed";
	made.exit_code = 3;
	made.ended_at = NOW + 1;
	assert_done(store_build_update(*state, &made, &err));
	made.state = BUILD_READY;
	assert_refused(store_build_update(*state, &made, &err), ERROR_CONFLICT);
	assert_done(store_build_find(*state, &a, NULL, made.id, &found, &err));
	assert_int_equal(found.state, BUILD_ERROR);
	assert_string_equal(found.message, "step 2 failed");
	assert_int_equal(found.exit_code, 3);
	assert_done(store_build_purge(*state, NOW + 1, &err));
	assert_done(store_build_find(*state, &a, NULL, made.id, &found, &err));
	assert_done(store_build_purge(*state, NOW + 2, &err));
	assert_refused(store_build_remove(*state, PROJECT, made.id, &err), ERROR_NOT_FOUND);
}

static void builds_are_listed_newest_first_and_by_name(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct build_filter filter = {.project_id = PROJECT, .limit = 2};
	struct build_list list;
	struct error err = {0};
	char id[] = "baaaaaaaaaaaaaaaaaaa";

	for (unsigned i = 0; i < 3; i++) {
		struct build_record r;

		id[19] = (char)('a' + i);
		r = sample(id, i == 1 ? "other" : "app");
		r.created_at = NOW + i;
		r.node = i == 2 ? "there" : "here";
		assert_done(store_build_insert(*state, &r, &err));
	}
	assert_done(store_build_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].created_at, NOW + 2);
	filter.page = list.next_page;
	assert_done(store_build_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 1);
	assert_null(list.next_page);
	filter = (struct build_filter){.project_id = PROJECT, .name = "other", .limit = 10};
	assert_done(store_build_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 1);
	assert_done(store_build_list_unfinished(*state, &a, "here", &list, &err));
	assert_int_equal(list.count, 2);
	filter.page = "nonsense";
	assert_refused(store_build_list(*state, &a, &filter, &list, &err), ERROR_INVALID);
}

static void a_log_is_read_from_any_line(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct build_record made = sample("baaaaaaaaaaaaaaaaaaa", "app");
	struct build_log_page page = {.build_id = made.id, .limit = 10};
	struct build_chunks chunks;
	struct error err = {0};

	assert_done(store_build_insert(*state, &made, &err));
	for (int64_t i = 0; i < 3; i++) {
		const struct build_chunk chunk = {made.id, 2 * i, 2, "{}\n{}\n"};

		assert_done(store_build_log_add(*state, &chunk, &err));
		assert_done(store_build_log_add(*state, &chunk, &err));
	}
	assert_done(store_build_log_list(*state, &a, &page, &chunks, &err));
	assert_int_equal(chunks.count, 3);
	assert_string_equal(chunks.items[0].text, "{}\n{}\n");
	page.since = 3;
	assert_done(store_build_log_list(*state, &a, &page, &chunks, &err));
	assert_int_equal(chunks.count, 2);
	assert_int_equal(chunks.items[0].first_line, 2);
	page.since = 6;
	assert_done(store_build_log_list(*state, &a, &page, &chunks, &err));
	assert_int_equal(chunks.count, 0);
	page = (struct build_log_page){.build_id = made.id, .limit = 1};
	assert_done(store_build_log_list(*state, &a, &page, &chunks, &err));
	assert_int_equal(chunks.count, 1);
}

/* ---- layers ---- */

static void add_layer(struct store *s, const char *id, const char *template_id)
{
	struct error err = {0};
	struct snapshot_record r = {.id = id,
	                            .project_id = PROJECT,
	                            .name = id,
	                            .sandbox_id = "gone",
	                            .template_id = template_id,
	                            .node = "here",
	                            .state = SNAPSHOT_MAKING,
	                            .kind = SNAPSHOT_LAYER,
	                            .created_at = NOW};

	assert_done(store_snapshot_insert(s, &r, 0, &err));
	r.state = SNAPSHOT_READY;
	assert_done(store_snapshot_update(s, &r, false, &err));
}

static struct cached_layer row(const char *key, const char *snapshot)
{
	return (struct cached_layer){.project_id = PROJECT,
	                             .node = "here",
	                             .key = key,
	                             .snapshot_id = snapshot,
	                             .size_bytes = 10,
	                             .created_at = NOW,
	                             .used_at = NOW};
}

static void layers_are_no_snapshots_that_a_project_sees(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct snapshot_filter filter = {.project_id = PROJECT, .limit = 10};
	struct snapshot_list list;
	struct error err = {0};

	add_layer(*state, "saaaaaaaaaaaaaaaaaaa", "t1");
	assert_done(store_snapshot_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 0);
	filter.with_layers = true;
	assert_done(store_snapshot_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].kind, SNAPSHOT_LAYER);
}

static void a_key_leads_to_one_layer_and_the_oldest_use_comes_first(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct cached_layer one = row("k1", "saaaaaaaaaaaaaaaaaaa"),
	                    two = row("k2", "sbbbbbbbbbbbbbbbbbbb"), found;
	struct build_cache_filter filter = {.node = "here", .limit = 10};
	struct cached_layers list;
	struct error err = {0};

	add_layer(*state, one.snapshot_id, "t1");
	add_layer(*state, two.snapshot_id, "t2");
	assert_int_equal(store_build_cache_find(*state, &a, &one, &found, &err), 0);
	assert_done(store_build_cache_put(*state, &one, &err));
	two.used_at = NOW + 1;
	assert_done(store_build_cache_put(*state, &two, &err));
	assert_int_equal(store_build_cache_find(*state, &a, &one, &found, &err), 1);
	assert_string_equal(found.snapshot_id, one.snapshot_id);
	assert_int_equal(found.size_bytes, 10);
	assert_done(store_build_cache_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].key, "k1");
	one.used_at = NOW + 2;
	assert_done(store_build_cache_touch(*state, &one, &err));
	assert_done(store_build_cache_list(*state, &a, &filter, &list, &err));
	assert_string_equal(list.items[0].key, "k2");
	filter.template_id = "t1";
	assert_done(store_build_cache_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 1);
	filter = (struct build_cache_filter){.node = "there", .limit = 10};
	assert_done(store_build_cache_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 0);
	one.snapshot_id = two.snapshot_id;
	assert_done(store_build_cache_put(*state, &one, &err));
	assert_done(store_build_cache_remove(*state, two.snapshot_id, &err));
	assert_int_equal(store_build_cache_find(*state, &a, &one, &found, &err), 0);
}

static void a_layer_is_free_when_neither_cache_nor_template_has_it(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const char *id = "saaaaaaaaaaaaaaaaaaa";
	const struct cached_layer cached = row("k1", id);
	const struct template_record t = {.id = "t1",
	                                  .project_id = PROJECT,
	                                  .name = "app",
	                                  .folder = "host",
	                                  .snapshot_id = id,
	                                  .ready = "true"};
	struct template_record found;
	struct layer_filter filter = {.node = "here", .before = NOW + 1, .limit = 10};
	struct layer_list unused;
	struct error err = {0};
	bool is_free = true;

	add_layer(*state, id, "host-id");
	assert_done(store_build_cache_put(*state, &cached, &err));
	assert_done(store_template_insert(*state, &t, &err));
	assert_done(store_template_find(*state, &a, PROJECT, "app", &found, &err));
	assert_string_equal(found.snapshot_id, id);
	assert_string_equal(found.ready, "true");
	assert_done(store_layer_release(*state, id, &is_free, &err));
	assert_false(is_free);
	assert_done(store_build_cache_remove(*state, id, &err));
	assert_done(store_layer_release(*state, id, &is_free, &err));
	assert_false(is_free);
	assert_done(store_layers_unused(*state, &a, &filter, &unused, &err));
	assert_int_equal(unused.count, 0);
	assert_done(store_template_remove(*state, PROJECT, "t1", &err));
	filter.before = NOW;
	assert_done(store_layers_unused(*state, &a, &filter, &unused, &err));
	assert_int_equal(unused.count, 0);
	filter.before = NOW + 1;
	assert_done(store_layers_unused(*state, &a, &filter, &unused, &err));
	assert_int_equal(unused.count, 1);
	assert_string_equal(unused.items[0].id, id);
	assert_done(store_layer_release(*state, id, &is_free, &err));
	assert_true(is_free);
	assert_done(store_snapshot_remove(*state, id, &err));
}

static const struct CMUnitTest tests[] = {
        EACH(a_build_that_has_ended_stays_as_it_is),
        EACH(builds_are_listed_newest_first_and_by_name),
        EACH(a_log_is_read_from_any_line),
        EACH(layers_are_no_snapshots_that_a_project_sees),
        EACH(a_key_leads_to_one_layer_and_the_oldest_use_comes_first),
        EACH(a_layer_is_free_when_neither_cache_nor_template_has_it),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
