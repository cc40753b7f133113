/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <sys/xattr.h>

#include "base/bytes.h"
#include "scratch.h"

TEST(a_tree_is_removed_and_what_it_points_to_is_not)
{
	struct scratch s = scratch_new(), other = scratch_new();
	struct error err = {0};

	scratch_write(&other, "keep", "kept");
	scratch_folder(&s, "a");
	scratch_folder(&s, "a/b");
	scratch_write(&s, "a/b/file", "x");
	assert_int_equal(symlinkat(other.path, s.fd, "a/link"), 0);
	assert_int_equal(tree_remove(s.path, false, &err), 0);
	assert_int_equal(scratch_mode(&s, "a"), 0);
	assert_int_equal(scratch_mode(&s, ".") & S_IFMT, S_IFDIR);
	assert_string_equal(scratch_read(&other, "keep"), "kept");
	scratch_done(&s);
	scratch_done(&other);
}

TEST(a_missing_tree_is_removed_already)
{
	struct error err = {0};

	assert_int_equal(tree_remove("/tmp/atoll-test-missing", true, &err), 0);
}

TEST(a_file_with_two_names_counts_once)
{
	struct scratch s = scratch_new();
	struct error err = {0};
	static char text[100 * 1024];
	int64_t one, two;

	memset(text, 'x', sizeof(text) - 1);
	scratch_write(&s, "a", text);
	assert_int_equal(tree_size(s.path, &one, &err), 0);
	assert_true(one >= (int64_t)sizeof(text) - 1);
	assert_int_equal(linkat(s.fd, "a", s.fd, "b", 0), 0);
	assert_int_equal(tree_size(s.path, &two, &err), 0);
	assert_int_equal(one, two);
	scratch_done(&s);
}

TEST(attributes_of_overlay_mounts_are_taken_off)
{
	struct scratch s = scratch_new();
	struct error err = {0};
	char path[96], value[8];

	scratch_write(&s, "a", "x");
	snprintf(path, sizeof(path), "%s/a", s.path);
	if (setxattr(path, "user.overlay.opaque", "y", 1, 0) < 0)
		skip(); /* a filesystem without such attributes */
	assert_int_equal(setxattr(path, "user.mine", "y", 1, 0), 0);
	assert_int_equal(tree_strip_attributes(s.path, &err), 0);
	assert_int_equal(getxattr(path, "user.overlay.opaque", value, sizeof(value)), -1);
	assert_int_equal(getxattr(path, "user.mine", value, sizeof(value)), 1);
	scratch_done(&s);
}

int main(void)
{
	return RUN(CASE(a_tree_is_removed_and_what_it_points_to_is_not),
	           CASE(a_missing_tree_is_removed_already), CASE(a_file_with_two_names_counts_once),
	           CASE(attributes_of_overlay_mounts_are_taken_off));
}
