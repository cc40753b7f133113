/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "image/work.h"
#include "scratch.h"

static const struct image_config config = {"{\"A\":\"b\"}", "[]", "[80]", "me", "/srv", 7};

static struct image_spec job_in(const struct scratch *s)
{
	return (struct image_spec){
	        .templates_dir = s->path, .name = "one", .progress_fd = -1, .size_max = 1 << 20};
}

TEST(a_template_is_there_when_it_is_committed)
{
	struct scratch s = scratch_new();
	struct image_spec spec = job_in(&s);
	struct work w = WORK;
	struct error err = {0};

	assert_int_equal(work_begin(&w, &spec, &err), 0);
	assert_int_equal(scratch_mode(&s, "one"), 0);
	assert_int_equal(scratch_mode(&s, ".one.partial/" IMAGE_ROOT) & S_IFMT, S_IFDIR);
	assert_int_equal(work_commit(&w, &config, &err), 0);
	work_done(&w);
	assert_int_equal(scratch_mode(&s, "one"), S_IFDIR | 0700);
	assert_int_equal(scratch_mode(&s, "one/scratch"), 0);
	assert_int_equal(scratch_mode(&s, ".one.partial"), 0);
	assert_int_equal(scratch_mode(&s, ".one.json") & 0777, 0644);
	scratch_done(&s);
}

TEST(what_was_not_committed_leaves_nothing)
{
	struct scratch s = scratch_new();
	struct image_spec spec = job_in(&s);
	struct work w = WORK;
	struct error err = {0};

	assert_int_equal(work_begin(&w, &spec, &err), 0);
	scratch_write(&s, ".one.partial/" IMAGE_ROOT "/file", "x");
	work_done(&w);
	work_done(&w);
	assert_int_equal(scratch_mode(&s, ".one.partial"), 0);
	assert_int_equal(scratch_mode(&s, "one"), 0);
	scratch_done(&s);
}

TEST(what_a_killed_maker_left_is_removed_by_the_next)
{
	struct scratch s = scratch_new();
	struct image_spec spec = job_in(&s);
	struct work w = WORK;
	struct error err = {0};

	assert_int_equal(mkdirat(s.fd, ".one.partial", 0700), 0);
	scratch_folder(&s, ".one.partial/rootfs");
	scratch_write(&s, ".one.partial/rootfs/old", "x");
	assert_int_equal(work_begin(&w, &spec, &err), 0);
	assert_int_equal(scratch_mode(&s, ".one.partial/rootfs/old"), 0);
	work_done(&w);
	scratch_done(&s);
}

TEST(two_makers_of_one_template_do_not_meet)
{
	struct scratch s = scratch_new();
	struct image_spec spec = job_in(&s);
	struct work first = WORK, second = WORK;
	struct error err = {0};

	assert_int_equal(work_begin(&first, &spec, &err), 0);
	assert_int_equal(work_begin(&second, &spec, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	work_done(&second);
	assert_int_equal(scratch_mode(&s, ".one.partial/scratch") & S_IFMT, S_IFDIR);
	assert_int_equal(work_commit(&first, &config, &err), 0);
	assert_int_equal(work_begin(&second, &spec, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	work_done(&second);
	assert_int_equal(scratch_mode(&s, "one") & S_IFMT, S_IFDIR);
	scratch_done(&s);
}

TEST(folders_that_others_may_change_are_refused)
{
	struct scratch s = scratch_new();
	struct image_spec spec = job_in(&s);
	struct work w = WORK;
	struct error err = {0};

	assert_int_equal(fchmod(s.fd, 0777), 0);
	assert_int_equal(work_begin(&w, &spec, &err), -1);
	assert_int_equal(err.code, ERROR_FORBIDDEN);
	work_done(&w);
	assert_int_equal(fchmod(s.fd, 0700), 0);
	assert_int_equal(mkdirat(s.fd, ".one.partial", 0700), 0);
	assert_int_equal(fchmodat(s.fd, ".one.partial", 0777, 0), 0);
	assert_int_equal(work_begin(&w, &spec, &err), -1);
	assert_int_equal(err.code, ERROR_FORBIDDEN);
	work_done(&w);
	scratch_done(&s);
}

TEST(a_link_in_place_of_the_partial_folder_is_refused)
{
	struct scratch s = scratch_new(), other = scratch_new();
	struct image_spec spec = job_in(&s);
	struct work w = WORK;
	struct error err = {0};

	scratch_write(&other, "file", "kept");
	assert_int_equal(symlinkat(other.path, s.fd, ".one.partial"), 0);
	assert_int_equal(work_begin(&w, &spec, &err), -1);
	work_done(&w);
	assert_string_equal(scratch_read(&other, "file"), "kept");
	scratch_done(&s);
	scratch_done(&other);
}

TEST(a_template_is_removed_with_its_description)
{
	struct scratch s = scratch_new();
	struct image_spec spec = job_in(&s);
	struct work w = WORK;
	struct arena a = {0};
	struct image_config loaded;
	struct error err = {0};

	assert_int_equal(work_begin(&w, &spec, &err), 0);
	assert_int_equal(work_commit(&w, &config, &err), 0);
	assert_int_equal(image_remove(s.path, "one", &err), 0);
	assert_int_equal(image_config_load(&a, s.path, "one", &loaded, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(image_remove(s.path, "one", &err), 0);
	assert_int_equal(image_remove(s.path, "../one", &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	arena_done(&a);
	scratch_done(&s);
}

int main(void)
{
	return RUN(CASE(a_template_is_there_when_it_is_committed),
	           CASE(what_was_not_committed_leaves_nothing),
	           CASE(what_a_killed_maker_left_is_removed_by_the_next),
	           CASE(two_makers_of_one_template_do_not_meet),
	           CASE(folders_that_others_may_change_are_refused),
	           CASE(a_link_in_place_of_the_partial_folder_is_refused),
	           CASE(a_template_is_removed_with_its_description));
}
