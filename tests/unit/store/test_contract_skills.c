/* SPDX-License-Identifier: Apache-2.0 */
#include "store/skills.h"

#include "each_store.h"

static struct skill_record sample(const char *id, const char *name)
{
	return (struct skill_record){
	        .id = id,
	        .project_id = PROJECT,
	        .name = name,
	        .description = "when \"quoted\"",
	        .files_json = "{\"files\":[{\"path\":\"SKILL.md\",\"content\":\"eA==\"}]}",
	        .file_count = 1,
	        .size_bytes = 1,
	        .updated_at = NOW,
	};
}

static void a_skill_is_found_as_it_was_put(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct skill_record r = sample("aaaaaaaaaaaaaaaaaaaa", "one"), found;
	struct error err = {0};

	assert_done(store_skill_put(*state, &r, &err));
	assert_done(store_skill_find(*state, &a, PROJECT, "one", &found, &err));
	assert_string_equal(found.files_json, r.files_json);
	assert_string_equal(found.description, r.description);
	assert_int_equal(found.file_count, 1);
	assert_int_equal(found.size_bytes, 1);
	assert_int_equal(found.updated_at, NOW);
	assert_refused(store_skill_find(*state, &a, PROJECT, "two", &found, &err), ERROR_NOT_FOUND);
	assert_refused(store_skill_find(*state, &a, "another", "one", &found, &err),
	               ERROR_NOT_FOUND);
}

static void one_of_the_same_name_takes_its_place_as_a_whole(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct skill_record r = sample("aaaaaaaaaaaaaaaaaaaa", "one"), found;
	struct skill_list all;
	struct error err = {0};

	assert_done(store_skill_put(*state, &r, &err));
	r = sample("bbbbbbbbbbbbbbbbbbbb", "one");
	r.files_json = "{\"files\":[]}";
	r.file_count = 2;
	r.description = "";
	r.updated_at = NOW + 5;
	assert_done(store_skill_put(*state, &r, &err));
	assert_done(store_skill_find(*state, &a, PROJECT, "one", &found, &err));
	assert_string_equal(found.files_json, r.files_json);
	assert_string_equal(found.description, "");
	assert_int_equal(found.file_count, 2);
	assert_int_equal(found.updated_at, NOW + 5);
	assert_done(store_skill_list(*state, &a, PROJECT, &all, &err));
	assert_int_equal(all.count, 1);
}

static void a_list_is_by_name_and_without_contents(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct skill_record r;
	struct skill_list all;
	struct error err = {0};

	assert_done(store_skill_list(*state, &a, PROJECT, &all, &err));
	assert_int_equal(all.count, 0);
	r = sample("aaaaaaaaaaaaaaaaaaaa", "zebra");
	assert_done(store_skill_put(*state, &r, &err));
	r = sample("bbbbbbbbbbbbbbbbbbbb", "ant");
	assert_done(store_skill_put(*state, &r, &err));
	assert_done(store_skill_list(*state, &a, PROJECT, &all, &err));
	assert_int_equal(all.count, 2);
	assert_string_equal(all.items[0].name, "ant");
	assert_string_equal(all.items[1].name, "zebra");
	assert_string_equal(all.items[0].files_json, "");
	assert_done(store_skill_list(*state, &a, "another", &all, &err));
	assert_int_equal(all.count, 0);
}

static void what_is_removed_is_gone_and_only_that(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct skill_record r = sample("aaaaaaaaaaaaaaaaaaaa", "one"), found;
	struct error err = {0};

	assert_done(store_skill_put(*state, &r, &err));
	r = sample("bbbbbbbbbbbbbbbbbbbb", "two");
	assert_done(store_skill_put(*state, &r, &err));
	assert_refused(store_skill_remove(*state, "another", "one", &err), ERROR_NOT_FOUND);
	assert_done(store_skill_remove(*state, PROJECT, "one", &err));
	assert_refused(store_skill_remove(*state, PROJECT, "one", &err), ERROR_NOT_FOUND);
	assert_done(store_skill_find(*state, &a, PROJECT, "two", &found, &err));
}

static void a_project_has_so_many_and_may_still_replace_them(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct skill_record r, found;
	struct error err = {0};

	for (int i = 0; i < STORE_SKILLS_MAX; i++) {
		r = sample(arena_format(&a, "a%019d", i), arena_format(&a, "skill-%d", i));
		assert_done(store_skill_put(*state, &r, &err));
	}
	r = sample("bbbbbbbbbbbbbbbbbbbb", "one-more");
	assert_refused(store_skill_put(*state, &r, &err), ERROR_LIMIT);
	r = sample("cccccccccccccccccccc", "skill-7");
	r.file_count = 3;
	assert_done(store_skill_put(*state, &r, &err));
	assert_done(store_skill_find(*state, &a, PROJECT, "skill-7", &found, &err));
	assert_int_equal(found.file_count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        EACH(a_skill_is_found_as_it_was_put),
	        EACH(one_of_the_same_name_takes_its_place_as_a_whole),
	        EACH(a_list_is_by_name_and_without_contents),
	        EACH(what_is_removed_is_gone_and_only_that),
	        EACH(a_project_has_so_many_and_may_still_replace_them),
	};

	return each_store_run(tests, COUNT_OF(tests));
}
