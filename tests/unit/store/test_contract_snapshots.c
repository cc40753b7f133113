/* SPDX-License-Identifier: Apache-2.0 */
#include "store/snapshots.h"

#include "each_store.h"

#define BOX "bbbbbbbbbbbbbbbbbbbb"

static struct snapshot_record sample(const char *id, const char *name)
{
	return (struct snapshot_record){.id = id,
	                                .project_id = PROJECT,
	                                .name = name,
	                                .sandbox_id = BOX,
	                                .sandbox_name = "box",
	                                .template_id = "t",
	                                .template_name = "host",
	                                .provider = "native",
	                                .node = "here",
	                                .state = SNAPSHOT_MAKING,
	                                .created_at = NOW};
}

static void a_snapshot_is_found_by_id_and_by_name_in_its_project(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct snapshot_record made = sample("saaaaaaaaaaaaaaaaaaa", "one"), found;
	struct error err = {0};

	assert_done(store_snapshot_insert(*state, &made, 10, &err));
	assert_done(store_snapshot_find(*state, &a, PROJECT, "one", &found, &err));
	assert_string_equal(found.id, made.id);
	assert_string_equal(found.parent_id, "");
	assert_int_equal(found.state, SNAPSHOT_MAKING);
	assert_done(store_snapshot_find(*state, &a, NULL, made.id, &found, &err));
	assert_refused(store_snapshot_find(*state, &a, "others", made.id, &found, &err),
	               ERROR_NOT_FOUND);
	made.method = "copy";
	made.because = "a file is open";
	made.depth = 3;
	made.frozen_us = 1234;
	made.state = SNAPSHOT_READY;
	assert_done(store_snapshot_update(*state, &made, false, &err));
	assert_done(store_snapshot_find(*state, &a, PROJECT, "one", &found, &err));
	assert_int_equal(found.state, SNAPSHOT_READY);
	assert_string_equal(found.method, "copy");
	assert_string_equal(found.because, "a file is open");
	assert_int_equal(found.depth, 3);
	assert_int_equal(found.frozen_us, 1234);
}

static void names_are_taken_once_and_a_project_has_at_most_so_many(void **state)
{
	struct snapshot_record one = sample("saaaaaaaaaaaaaaaaaaa", "one"),
	                       two = sample("sbbbbbbbbbbbbbbbbbbb", "one"),
	                       nobodys = sample("sccccccccccccccccccc", "three");
	struct error err = {0};

	assert_done(store_snapshot_insert(*state, &one, 1, &err));
	assert_refused(store_snapshot_insert(*state, &two, 10, &err), ERROR_CONFLICT);
	two.name = "two";
	assert_refused(store_snapshot_insert(*state, &two, 1, &err), ERROR_LIMIT);
	assert_done(store_snapshot_insert(*state, &two, 2, &err));
	assert_done(store_snapshot_remove(*state, one.id, &err));
	assert_done(store_snapshot_remove(*state, one.id, &err));
	assert_refused(store_snapshot_update(*state, &one, false, &err), ERROR_NOT_FOUND);
	nobodys.project_id = "nobody";
	assert_int_equal(store_snapshot_insert(*state, &nobodys, 10, &err), -1);
}

static void pages_show_every_snapshot_once(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct snapshot_filter filter = {.project_id = PROJECT, .limit = 2};
	struct snapshot_list list;
	struct error err = {0};
	size_t seen = 0;

	for (unsigned i = 0; i < 5; i++) {
		char id[] = "saaaaaaaaaaaaaaaaaaa";
		struct snapshot_record r = sample(id, id);

		id[19] = (char)('b' + i);
		r.created_at = NOW + (int64_t)i / 2;
		r.node = i == 0 ? "there" : "here";
		assert_done(store_snapshot_insert(*state, &r, 10, &err));
	}
	do {
		assert_done(store_snapshot_list(*state, &a, &filter, &list, &err));
		seen += list.count;
		filter.page = list.next_page;
	} while (filter.page);
	assert_int_equal(seen, 5);
	filter = (struct snapshot_filter){.node = "there", .limit = 10};
	assert_done(store_snapshot_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 1);
	filter = (struct snapshot_filter){.sandbox_id = "another", .limit = 10};
	assert_done(store_snapshot_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 0);
	filter = (struct snapshot_filter){.limit = 10, .page = "7"};
	assert_refused(store_snapshot_list(*state, &a, &filter, &list, &err), ERROR_INVALID);
}

static void a_sandbox_lies_on_what_was_taken_of_it_last(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct sandbox_record box = sample_sandbox(BOX, "box"),
	                      forked = sample_sandbox("scccccccccccccccccca", "forked");
	struct snapshot_record one = sample("saaaaaaaaaaaaaaaaaaa", "one"),
	                       gone = sample("sbbbbbbbbbbbbbbbbbbb", "two");
	struct error err = {0};
	const char *base;

	assert_done(store_sandbox_insert(*state, &box, 0, &err));
	assert_done(store_snapshot_base(*state, &a, BOX, &base, &err));
	assert_string_equal(base, "");
	assert_done(store_snapshot_insert(*state, &one, 10, &err));
	one.state = SNAPSHOT_READY;
	assert_done(store_snapshot_update(*state, &one, true, &err));
	assert_done(store_snapshot_base(*state, &a, BOX, &base, &err));
	assert_string_equal(base, one.id);
	assert_done(store_snapshot_set_base(*state, BOX, "another", &err));
	assert_done(store_snapshot_base(*state, &a, BOX, &base, &err));
	assert_string_equal(base, "another");
	/* where it began is another matter, and stays */
	assert_done(store_snapshot_origin(*state, &a, BOX, &base, &err));
	assert_string_equal(base, "");
	assert_done(store_sandbox_insert_with(
	        *state, &(struct sandbox_insertion){.record = &forked, .origin = one.id}, &err));
	assert_done(store_snapshot_set_base(*state, forked.id, "own", &err));
	assert_done(store_snapshot_base(*state, &a, forked.id, &base, &err));
	assert_string_equal(base, "own");
	assert_done(store_snapshot_origin(*state, &a, forked.id, &base, &err));
	assert_string_equal(base, one.id);
	/* of a sandbox that is not there any more */
	gone.sandbox_id = "nowhere";
	gone.state = SNAPSHOT_READY;
	assert_done(store_snapshot_insert(*state, &gone, 10, &err));
	assert_done(store_snapshot_update(*state, &gone, false, &err));
}

static void a_template_stays_while_a_snapshot_lies_on_it(void **state)
{
	struct template_record own = {
	        .id = "t1", .project_id = PROJECT, .name = "mine", .folder = "mine"};
	struct snapshot_record one = sample("saaaaaaaaaaaaaaaaaaa", "one");
	struct error err = {0};

	assert_done(store_template_insert(*state, &own, &err));
	one.template_id = "t1";
	assert_done(store_snapshot_insert(*state, &one, 10, &err));
	assert_refused(store_template_remove(*state, PROJECT, "t1", &err), ERROR_CONFLICT);
	assert_done(store_snapshot_remove(*state, one.id, &err));
	assert_done(store_template_remove(*state, PROJECT, "t1", &err));
}

static const struct CMUnitTest tests[] = {
        EACH(a_snapshot_is_found_by_id_and_by_name_in_its_project),
        EACH(names_are_taken_once_and_a_project_has_at_most_so_many),
        EACH(pages_show_every_snapshot_once),
        EACH(a_sandbox_lies_on_what_was_taken_of_it_last),
        EACH(a_template_stays_while_a_snapshot_lies_on_it),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
