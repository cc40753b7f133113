/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backups.h"

#include "each_store.h"

static struct backup_record sample(const char *id, const char *name)
{
	return (struct backup_record){.id = id,
	                              .project_id = PROJECT,
	                              .name = name,
	                              .holder_id = "",
	                              .snapshot_id = "saaaaaaaaaaaaaaaaaaa",
	                              .snapshot_name = "snap",
	                              .template_id = "t",
	                              .template_name = "host",
	                              .template_digest = "",
	                              .node = "here",
	                              .state = BACKUP_MAKING,
	                              .state_text = "0 %",
	                              .sha256 = "",
	                              .created_at = NOW};
}

static void a_backup_is_found_by_id_and_by_name_and_changes(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct backup_record made = sample("baaaaaaaaaaaaaaaaaaa", "one"), found;
	struct error err = {0};

	assert_done(store_backup_insert(*state, &made, 10, &err));
	assert_refused(store_backup_find(*state, &a, "others", made.id, &found, &err),
	               ERROR_NOT_FOUND);
	made.state = BACKUP_READY;
	made.state_text = "";
	made.sha256 = "abc";
	made.template_digest = "digest";
	made.size_bytes = 1;
	made.files = 2;
	made.files_bytes = INT64_C(3) << 40;
	made.is_full = true;
	assert_done(store_backup_update(*state, &made, false, &err));
	assert_done(store_backup_find(*state, &a, PROJECT, "one", &found, &err));
	assert_int_equal(found.state, BACKUP_READY);
	assert_string_equal(found.sha256, "abc");
	assert_string_equal(found.template_digest, "digest");
	assert_int_equal(found.files_bytes, INT64_C(3) << 40);
	assert_true(found.is_full);
	assert_done(store_backup_remove(*state, made.id, &err));
	assert_done(store_backup_remove(*state, made.id, &err));
	assert_refused(store_backup_update(*state, &made, true, &err), ERROR_NOT_FOUND);
}

static void one_that_is_being_removed_stays_so(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct backup_record made = sample("baaaaaaaaaaaaaaaaaaa", "one"), found;
	struct error err = {0};

	assert_done(store_backup_insert(*state, &made, 10, &err));
	made.state = BACKUP_REMOVING;
	assert_done(store_backup_update(*state, &made, false, &err));
	assert_done(store_backup_update(*state, &made, false, &err));
	made.state = BACKUP_READY;
	assert_refused(store_backup_update(*state, &made, false, &err), ERROR_NOT_FOUND);
	assert_done(store_backup_find(*state, &a, NULL, made.id, &found, &err));
	assert_int_equal(found.state, BACKUP_REMOVING);
}

static void names_are_taken_once_and_archives_do_not_count(void **state)
{
	struct backup_record one = sample("baaaaaaaaaaaaaaaaaaa", "one"),
	                     two = sample("bbbbbbbbbbbbbbbbbbbb", "one"),
	                     held = sample("bccccccccccccccccccc", "held");
	struct error err = {0};

	assert_done(store_backup_insert(*state, &one, 1, &err));
	assert_refused(store_backup_insert(*state, &two, 10, &err), ERROR_CONFLICT);
	two.name = "two";
	assert_refused(store_backup_insert(*state, &two, 1, &err), ERROR_LIMIT);
	held.holder_id = "iaaaaaaaaaaaaaaaaaaa";
	assert_done(store_backup_insert(*state, &held, 1, &err));
}

static void pages_show_every_backup_once_and_filters_hold(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct backup_filter filter = {.project_id = PROJECT, .holder_id = "", .limit = 2};
	struct backup_list list;
	struct error err = {0};
	size_t seen = 0;

	for (unsigned i = 0; i < 6; i++) {
		char id[] = "baaaaaaaaaaaaaaaaaaa";
		struct backup_record r = sample(id, id);

		id[19] = (char)('b' + i);
		r.created_at = NOW + (int64_t)i / 2;
		r.node = i == 0 ? "there" : "here";
		r.holder_id = i == 5 ? "iaaaaaaaaaaaaaaaaaaa" : "";
		assert_done(store_backup_insert(*state, &r, 10, &err));
	}
	do {
		assert_done(store_backup_list(*state, &a, &filter, &list, &err));
		seen += list.count;
		filter.page = list.next_page;
	} while (filter.page);
	assert_int_equal(seen, 5);
	filter = (struct backup_filter){.holder_id = "iaaaaaaaaaaaaaaaaaaa", .limit = 10};
	assert_done(store_backup_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 1);
	filter = (struct backup_filter){.node = "there", .limit = 10};
	assert_done(store_backup_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 1);
	filter.page = "nonsense";
	assert_refused(store_backup_list(*state, &a, &filter, &list, &err), ERROR_INVALID);
}

static const struct CMUnitTest tests[] = {
        EACH(a_backup_is_found_by_id_and_by_name_and_changes),
        EACH(one_that_is_being_removed_stays_so),
        EACH(names_are_taken_once_and_archives_do_not_count),
        EACH(pages_show_every_backup_once_and_filters_hold),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
