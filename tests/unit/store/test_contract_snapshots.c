/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backups.h"
#include "store/relations.h"
#include "store/snapshots.h"

#include "each_store.h"
#include "store/templates.h"

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
	struct snapshot_base base;

	assert_done(store_sandbox_insert(*state, &box, 0, &err));
	assert_done(store_snapshot_base(*state, &a, BOX, &base, &err));
	assert_string_equal(base.snapshot_id, "");
	assert_done(store_snapshot_insert(*state, &one, 10, &err));
	one.state = SNAPSHOT_READY;
	assert_done(store_snapshot_update(*state, &one, true, &err));
	assert_done(store_snapshot_base(*state, &a, BOX, &base, &err));
	assert_string_equal(base.snapshot_id, one.id);
	assert_done(store_snapshot_set_base(*state, BOX, "another", &err));
	assert_done(store_snapshot_base(*state, &a, BOX, &base, &err));
	assert_string_equal(base.snapshot_id, "another");
	/* where it began is another matter, and stays */
	assert_string_equal(base.origin_id, "");
	assert_done(store_sandbox_insert_with(
	        *state, &(struct sandbox_insertion){.record = &forked, .origin = one.id}, &err));
	assert_done(store_snapshot_set_base(*state, forked.id, "own", &err));
	assert_done(store_snapshot_base(*state, &a, forked.id, &base, &err));
	assert_string_equal(base.snapshot_id, "own");
	assert_string_equal(base.origin_id, one.id);
	/* of a sandbox that is not there any more */
	gone.sandbox_id = "nowhere";
	gone.state = SNAPSHOT_READY;
	assert_done(store_snapshot_insert(*state, &gone, 10, &err));
	assert_done(store_snapshot_update(*state, &gone, false, &err));
}

/* The id of each, in order, as one text. */
static const char *ids_of(struct arena *a, const struct relation_list *list)
{
	const char *text = "";

	for (size_t i = 0; i < list->count; i++)
		text = arena_format(a, "%s %s:%.2s", text, relation_kind_name(list->items[i].kind),
		                    list->items[i].id);
	return text;
}

static void insert_ready(struct store *s, const char *id, const char *parent, struct error *err)
{
	struct snapshot_record r = sample(id, id);

	r.parent_id = parent;
	r.state = SNAPSHOT_READY;
	if (store_snapshot_insert(s, &r, 100, err) < 0 ||
	    store_snapshot_update(s, &r, true, err) < 0)
		fail_msg("%s", err->text);
}

static void what_a_sandbox_lies_on_goes_down_to_its_template(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct sandbox_record box = sample_sandbox(BOX, "box"),
	                      forked = sample_sandbox("scccccccccccccccccca", "forked");
	struct relation_list list, own;
	struct error err = {0};

	assert_done(store_sandbox_insert(*state, &box, 0, &err));
	assert_done(store_relations_of(*state, &a, BOX, &list, &err));
	assert_int_equal(list.count, 0);
	insert_ready(*state, "1aaaaaaaaaaaaaaaaaaa", "", &err);
	insert_ready(*state, "2aaaaaaaaaaaaaaaaaaa", "1aaaaaaaaaaaaaaaaaaa", &err);
	insert_ready(*state, "3aaaaaaaaaaaaaaaaaaa", "2aaaaaaaaaaaaaaaaaaa", &err);
	assert_done(store_sandbox_insert_with(
	        *state,
	        &(struct sandbox_insertion){.record = &forked, .origin = "3aaaaaaaaaaaaaaaaaaa"},
	        &err));
	assert_done(store_relations_of(*state, &a, forked.id, &list, &err));
	assert_string_equal(ids_of(&a, &list), " below:3a below:2a below:1a origin:3a");
	assert_string_equal(list.items[3].sandbox_id, BOX);
	assert_string_equal(list.items[3].sandbox_name, "box");
	assert_string_equal(list.items[0].name, "3aaaaaaaaaaaaaaaaaaa");
	/* of a snapshot: those below it */
	assert_done(store_relations_of(*state, &a, "2aaaaaaaaaaaaaaaaaaa", &list, &err));
	assert_string_equal(ids_of(&a, &list), " below:1a");
	/* one that is removed leaves its id, and what was below it is not known any more */
	assert_done(store_snapshot_remove(*state, "2aaaaaaaaaaaaaaaaaaa", &err));
	assert_done(store_relations_of(*state, &a, forked.id, &list, &err));
	assert_string_equal(ids_of(&a, &list), " below:3a below:2a origin:3a");
	assert_string_equal(list.items[1].name, "");
	/* of a page: without what is below */
	assert_done(store_relations_of_page(
	        *state, &a,
	        &(struct relation_page){
	                .project_id = PROJECT,
	                .ids = arena_format(&a, "{\"%s\":1,\"%s\":1}", BOX, forked.id)},
	        &list, &err));
	assert_string_equal(ids_of(&a, &list), " origin:3a");
	own = relations_of(&list, forked.id);
	assert_int_equal(own.count, 1);
	own = relations_of(&list, BOX);
	assert_int_equal(own.count, 0);
	assert_done(store_relations_of_page(
	        *state, &a, &(struct relation_page){.project_id = PROJECT, .ids = "{}"}, &list,
	        &err));
	assert_int_equal(list.count, 0);
	assert_done(store_relations_of_page(
	        *state, &a,
	        &(struct relation_page){.project_id = "other",
	                                .ids = arena_format(&a, "{\"%s\":1}", forked.id)},
	        &list, &err));
	assert_int_equal(list.count, 0);
}

static void a_backup_of_another_project_is_none_of_its_snapshots(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct project_record other = {.id = "p2", .name = "second", .created_at = NOW};
	struct backup_record made = {.id = "baaaaaaaaaaaaaaaaaaa",
	                             .project_id = "p2",
	                             .name = "theirs",
	                             .holder_id = "",
	                             .snapshot_id = "1aaaaaaaaaaaaaaaaaaa",
	                             .snapshot_name = "snap",
	                             .template_id = "t",
	                             .template_name = "host",
	                             .template_digest = "",
	                             .node = "here",
	                             .state = BACKUP_READY,
	                             .state_text = "",
	                             .sha256 = "",
	                             .created_at = NOW};
	const struct relation_page page = {PROJECT, 0, INT64_MAX};
	struct relation_list list;
	struct error err = {0};

	insert_ready(*state, made.snapshot_id, "", &err);
	assert_done(store_project_insert(*state, &other, &err));
	assert_done(store_backup_insert(*state, &made, 10, &err));
	assert_done(store_relations_of(*state, &a, made.snapshot_id, &list, &err));
	assert_int_equal(list.count, 0);
	assert_done(store_relations_of_snapshots(*state, &a, &page, &list, &err));
	assert_int_equal(list.count, 0);
	made.id = "bbbbbbbbbbbbbbbbbbbb";
	made.project_id = PROJECT;
	assert_done(store_backup_insert(*state, &made, 10, &err));
	assert_done(store_relations_of_snapshots(*state, &a, &page, &list, &err));
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].id, made.id);
}

static void what_is_below_is_told_so_far_and_a_ring_ends(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct relation_list list;
	struct error err = {0};
	char id[] = "raaaaaaaaaaaaaaaaaaa", parent[] = "raaaaaaaaaaaaaaaaaaa";

	/* the last one's parent is the first: no such row is written, but it would not hang */
	for (unsigned i = 0; i < RELATION_BELOW_MAX + 6; i++) {
		snprintf(id, sizeof(id), "r%019u", i);
		snprintf(parent, sizeof(parent), "r%019u", (i + 1) % (RELATION_BELOW_MAX + 6));
		insert_ready(*state, id, parent, &err);
	}
	assert_done(store_relations_of(*state, &a, "r0000000000000000000", &list, &err));
	assert_int_equal(list.count, RELATION_BELOW_MAX);
	assert_string_equal(list.items[0].id, "r0000000000000000001");
	assert_int_equal(list.items[RELATION_BELOW_MAX - 1].step, RELATION_BELOW_MAX);
}

static void a_fork_is_of_a_snapshot_without_a_name(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct snapshot_record unnamed = sample("saaaaaaaaaaaaaaaaaaa", "saaaaaaaaaaaaaaaaaaa"),
	                       named = sample("sbbbbbbbbbbbbbbbbbbb", "mine");
	const char *const ids[] = {"scccccccccccccccccca", "scccccccccccccccccbb",
	                           "sccccccccccccccccccc"};
	struct fork_search search = {.project_id = PROJECT, .sandbox_id = BOX};
	struct sandbox_list forks;
	struct error err = {0};
	const char *parent;

	assert_done(store_snapshot_insert(*state, &unnamed, 10, &err));
	assert_done(store_snapshot_insert(*state, &named, 10, &err));
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		struct sandbox_record r = sample_sandbox(ids[i], ids[i]);

		r.created_at = NOW - (int64_t)i;
		assert_done(store_sandbox_insert_with(
		        *state,
		        &(struct sandbox_insertion){.record = &r,
		                                    .origin = i == 2 ? named.id : unnamed.id},
		        &err));
	}
	assert_done(store_sandbox_forks(*state, &a, &search, &forks, &err));
	assert_int_equal(forks.count, 2);
	assert_string_equal(forks.items[0].id, ids[1]);
	assert_string_equal(forks.items[1].id, ids[0]);
	search.limit = 1;
	assert_done(store_sandbox_forks(*state, &a, &search, &forks, &err));
	assert_int_equal(forks.count, 1);
	search.project_id = "others";
	assert_done(store_sandbox_forks(*state, &a, &search, &forks, &err));
	assert_int_equal(forks.count, 0);
	assert_done(store_sandbox_parent(*state, &a, ids[0], &parent, &err));
	assert_string_equal(parent, BOX);
	assert_done(store_sandbox_parent(*state, &a, ids[2], &parent, &err));
	assert_string_equal(parent, "");
	assert_done(store_sandbox_parent(*state, &a, BOX, &parent, &err));
	assert_string_equal(parent, "");
	/* with the snapshot goes what is known of it */
	assert_done(store_snapshot_remove(*state, unnamed.id, &err));
	assert_done(store_sandbox_parent(*state, &a, ids[0], &parent, &err));
	assert_string_equal(parent, "");
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
        EACH(what_a_sandbox_lies_on_goes_down_to_its_template),
        EACH(what_is_below_is_told_so_far_and_a_ring_ends),
        EACH(a_backup_of_another_project_is_none_of_its_snapshots),
        EACH(a_fork_is_of_a_snapshot_without_a_name),
        EACH(a_template_stays_while_a_snapshot_lies_on_it),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
