/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "cli/sync/plan.h"

/* One file on each side: NULL = it is not there; else its time. */
static int step_of(const char *local, const char *remote, const char *local_before,
                   const char *remote_before)
{
	struct sync_list here = {0}, there = {0};
	struct sync_state state = {0};
	struct sync_plan plan = {0};
	int step = -1;

	if (local)
		sync_list_add(&here, &(struct sync_file){.path = "a", .time = local});
	if (remote)
		sync_list_add(&there, &(struct sync_file){.path = "a", .time = remote});
	if (local_before)
		sync_list_add(&state.local, &(struct sync_file){.path = "a", .time = local_before});
	if (remote_before)
		sync_list_add(&state.remote,
		              &(struct sync_file){.path = "a", .time = remote_before});
	sync_list_index(&here);
	sync_list_index(&there);
	sync_list_index(&state.local);
	sync_list_index(&state.remote);
	sync_plan_make(&plan, &here, &there, &state);
	assert_true(plan.count <= 1);
	if (plan.count == 1)
		step = (int)plan.items[0].step;
	sync_plan_done(&plan);
	sync_list_done(&here);
	sync_list_done(&there);
	sync_list_done(&state.local);
	sync_list_done(&state.remote);
	return step;
}

TEST(what_changed_on_one_side_goes_to_the_other)
{
	assert_int_equal(step_of("1", "1", "1", "1"), -1);
	assert_int_equal(step_of("2", "1", "1", "1"), SYNC_UP);
	assert_int_equal(step_of("1", "2", "1", "1"), SYNC_DOWN);
	assert_int_equal(step_of("2", "2", "1", "1"), SYNC_BOTH);
	assert_int_equal(step_of("1", NULL, NULL, NULL), SYNC_UP);
	assert_int_equal(step_of(NULL, "1", NULL, NULL), SYNC_DOWN);
	assert_int_equal(step_of("1", "1", NULL, NULL), SYNC_BOTH);
}

TEST(a_deletion_is_one_only_where_the_file_was_known_and_nobody_changed_it)
{
	assert_int_equal(step_of("1", NULL, "1", "1"), SYNC_DELETE_HERE);
	assert_int_equal(step_of(NULL, "1", "1", "1"), SYNC_DELETE_THERE);
	assert_int_equal(step_of("2", NULL, "1", "1"), SYNC_UP);
	assert_int_equal(step_of(NULL, "2", "1", "1"), SYNC_DOWN);
	assert_int_equal(step_of(NULL, NULL, "1", "1"), -1);
	/* Half of a state is none. */
	assert_int_equal(step_of("1", NULL, "1", NULL), SYNC_UP);
}

TEST(names_that_are_gits_or_no_text_are_left_alone)
{
	static const char *const unfit[] = {
	        "",
	        "/a",
	        "a//b",
	        "a/",
	        "../a",
	        "a/../b",
	        "./a",
	        ".git",
	        ".GIT/hooks/pre-commit",
	        "a/.git/config",
	        ".git./x",
	        ".git /x",
	        "git~1/x",
	        "a\nb",
	        "\x1b[2J",
	        "\xff",
	        ".atoll-sync-x",
	};
	static const char *const fit[] = {"a", "a/b c/ü", ".gitignore", ".github/x", "git", "..a"};

	for (size_t i = 0; i < COUNT_OF(unfit); i++)
		assert_false(sync_path_is_fit(unfit[i]));
	for (size_t i = 0; i < COUNT_OF(fit); i++)
		assert_true(sync_path_is_fit(fit[i]));
}

int main(void)
{
	return RUN(CASE(what_changed_on_one_side_goes_to_the_other),
	           CASE(a_deletion_is_one_only_where_the_file_was_known_and_nobody_changed_it),
	           CASE(names_that_are_gits_or_no_text_are_left_alone));
}
