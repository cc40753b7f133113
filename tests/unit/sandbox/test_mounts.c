/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "sandbox/sandbox.h"

TEST(a_volume_may_be_at_a_folder_of_its_own)
{
	static const char *const paths[] = {"/workspace",
	                                    "/home/user",
	                                    "/root",
	                                    "/srv/data",
	                                    "/var/lib/db",
	                                    "/mnt/a:b",
	                                    "/libraries",
	                                    "/tmp/scratch",
	                                    "/d\xc3\xa4ta",
	                                    "/usr/src/app",
	                                    "/usr/local/cargo/registry"};

	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		struct error err = {0};

		assert_int_equal(sandbox_mount_path_check(paths[i], &err), 0);
	}
}

TEST(a_volume_covers_nothing_of_the_system)
{
	static const char *const paths[] = {
	        "/bin",     "/usr/local",       "/etc",       "/proc/self", "/sys",
	        "/home",    "/dev/shm",         "/lib64",     "/run/atoll", "/var",
	        "/usr/src", "/usr/local/bin/x", "/usr/srcs/a"};

	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		struct error err = {0};

		assert_int_equal(sandbox_mount_path_check(paths[i], &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_non_null(strstr(err.text, "system"));
	}
}

TEST(a_place_is_a_plain_absolute_path)
{
	static const char *const paths[] = {
	        "",      "/",      "workspace", "/a/../etc", "/a//b", "/work/", "/work/./a",
	        "/a\nb", "/a\x7f", "/\xff",     "//",        "/..",   "."};

	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		struct error err = {0};

		assert_int_equal(sandbox_mount_path_check(paths[i], &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_non_null(strstr(err.hint, "absolute"));
	}
}

TEST(a_place_is_at_most_as_long_as_it_may_be)
{
	char path[SANDBOX_MOUNT_PATH_MAX + 2];
	struct error err = {0};

	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	path[SANDBOX_MOUNT_PATH_MAX] = '\0';
	assert_int_equal(sandbox_mount_path_check(path, &err), 0);
	path[SANDBOX_MOUNT_PATH_MAX] = 'a';
	path[SANDBOX_MOUNT_PATH_MAX + 1] = '\0';
	assert_int_equal(sandbox_mount_path_check(path, &err), -1);
}

TEST(volumes_of_one_sandbox_do_not_overlap)
{
	static const struct sandbox_mount apart[] = {
	        {"one", "/workspace", false}, {"two", "/workspaces", true}, {"three", "/w", false}};
	static const struct sandbox_mount nested[] = {{"one", "/work/data", false},
	                                              {"two", "/work", false}};
	static const struct sandbox_mount same[] = {{"one", "/work", false},
	                                            {"two", "/work", true}};
	struct error err = {0};

	assert_int_equal(sandbox_mounts_check(apart, COUNT_OF(apart), &err), 0);
	assert_int_equal(sandbox_mounts_check(nested, COUNT_OF(nested), &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	assert_int_equal(sandbox_mounts_check(same, COUNT_OF(same), &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
}

TEST(a_volume_is_in_a_sandbox_once)
{
	static const struct sandbox_mount twice[] = {{"one", "/a", true}, {"one", "/b", true}};
	struct error err = {0};

	assert_int_equal(sandbox_mounts_check(twice, COUNT_OF(twice), &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "'/a'"));
}

TEST(a_folder_of_a_volume_is_a_plain_relative_path)
{
	static const char *const bad[] = {"",     "/",   "/a",   "a/",      "a//b",   "..",
	                                  "a/..", "./a", "a\nb", "a\x7f/b", "\xff/a", "a/."};
	struct sandbox_mount mount = {.volume_id = "one", .path = "/work", .subpath = "a/../b"};
	struct error err = {0};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(sandbox_mount_subpath_check(bad[i], &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_non_null(strstr(err.hint, "relative"));
	}
	assert_int_equal(sandbox_mount_subpath_check("users/a b/\xc3\xa4", &err), 0);
	assert_int_equal(sandbox_mounts_check(&mount, 1, &err), -1);
	mount.subpath = "";
	assert_int_equal(sandbox_mounts_check(&mount, 1, &err), 0);
}

TEST(a_sandbox_has_a_limited_number_of_volumes)
{
	struct sandbox_mount mounts[SANDBOX_MOUNTS_MAX + 1];
	static const char *const names[] = {"/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h", "/i"};
	struct error err = {0};

	for (size_t i = 0; i < COUNT_OF(mounts); i++)
		mounts[i] = (struct sandbox_mount){names[i], names[i], false};
	assert_int_equal(sandbox_mounts_check(mounts, SANDBOX_MOUNTS_MAX, &err), 0);
	assert_int_equal(sandbox_mounts_check(mounts, SANDBOX_MOUNTS_MAX + 1, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

int main(void)
{
	return RUN(CASE(a_volume_may_be_at_a_folder_of_its_own),
	           CASE(a_volume_covers_nothing_of_the_system),
	           CASE(a_place_is_a_plain_absolute_path),
	           CASE(a_place_is_at_most_as_long_as_it_may_be),
	           CASE(volumes_of_one_sandbox_do_not_overlap), CASE(a_volume_is_in_a_sandbox_once),
	           CASE(a_folder_of_a_volume_is_a_plain_relative_path),
	           CASE(a_sandbox_has_a_limited_number_of_volumes));
}
