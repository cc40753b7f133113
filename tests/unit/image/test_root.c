/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/bytes.h"
#include "image/root.h"
#include "scratch.h"

/* Files get owners, which only root can give. */
static void need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static struct scratch new_root(const char *passwd)
{
	struct scratch s = scratch_new();

	scratch_folder(&s, "etc");
	scratch_folder(&s, "bin");
	if (passwd)
		scratch_write(&s, "etc/passwd", passwd);
	return s;
}

TEST(a_root_gets_mount_points_files_and_a_user)
{
	need_root();
	struct scratch s = new_root("root:x:0:0::/root:/bin/sh");
	struct error err = {0};

	scratch_write(&s, "etc/shadow", "root:*:1:0:99999:7:::\n");
	assert_int_equal(fchmodat(s.fd, "etc/shadow", 0640, 0), 0);
	assert_int_equal(fchownat(s.fd, "etc/shadow", 0, 42, 0), 0);
	assert_int_equal(root_finish(s.path, &err), 0);
	assert_string_equal(scratch_read(&s, "etc/passwd"),
	                    "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n");
	assert_string_equal(scratch_read(&s, "etc/group"), "root:x:0:\nuser:x:1000:\n");
	assert_non_null(strstr(scratch_read(&s, "etc/shadow"), "\nuser:!:"));
	assert_int_equal(scratch_mode(&s, "etc/shadow") & 0777, 0640);
	struct stat st;
	assert_int_equal(fstatat(s.fd, "etc/shadow", &st, 0), 0);
	assert_int_equal(st.st_gid, 42);
	assert_int_equal(scratch_mode(&s, "tmp"), S_IFDIR | 01777);
	assert_int_equal(scratch_mode(&s, "proc") & S_IFMT, S_IFDIR);
	assert_int_equal(scratch_mode(&s, "etc/resolv.conf") & S_IFMT, S_IFREG);
	assert_int_equal(fstatat(s.fd, "home/user", &st, 0), 0);
	assert_int_equal(st.st_uid, ROOT_USER_ID);
	scratch_done(&s);
}

TEST(finishing_twice_changes_nothing)
{
	need_root();
	struct scratch s = new_root("root:x:0:0::/root:/bin/sh\n");
	struct error err = {0};
	char before[4096];

	assert_int_equal(root_finish(s.path, &err), 0);
	snprintf(before, sizeof(before), "%s", scratch_read(&s, "etc/passwd"));
	assert_int_equal(root_finish(s.path, &err), 0);
	assert_string_equal(scratch_read(&s, "etc/passwd"), before);
	scratch_done(&s);
}

TEST(an_image_that_has_such_a_user_keeps_it)
{
	need_root();
	struct scratch s =
	        new_root("root:x:0:0::/:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n");
	struct error err = {0};

	assert_int_equal(root_finish(s.path, &err), 0);
	assert_null(strstr(scratch_read(&s, "etc/passwd"), "user:"));
	scratch_done(&s);
}

TEST(a_user_of_that_name_with_another_id_gets_a_neighbour)
{
	need_root();
	struct scratch s = new_root("user:x:500:500::/home/user:/bin/sh\n");
	struct error err = {0};

	assert_int_equal(root_finish(s.path, &err), 0);
	assert_non_null(strstr(scratch_read(&s, "etc/passwd"), "\natoll:x:1000:1000:"));
	scratch_done(&s);
}

TEST(a_user_gets_another_name_once)
{
	need_root();
	struct scratch s = new_root(NULL);
	struct error err = {0};
	char target[8] = "";

	assert_int_equal(root_finish(s.path, &err), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(root_add_alias(s.fd, "other", "user", &err), 0);
	assert_string_equal(scratch_read(&s, "etc/passwd"),
	                    "root:x:0:0:root:/root:/bin/sh\n"
	                    "user:x:1000:1000::/home/user:/bin/sh\n"
	                    "other:x:1000:1000::/home/other:/bin/sh\n");
	assert_int_equal(readlinkat(s.fd, "home/other", target, sizeof(target)), 4);
	assert_memory_equal(target, "user", 4);
	scratch_done(&s);
}

TEST(a_root_without_any_accounts_gets_root_and_a_user)
{
	need_root();
	struct scratch s = new_root(NULL);
	struct error err = {0};

	assert_int_equal(root_finish(s.path, &err), 0);
	assert_string_equal(scratch_read(&s, "etc/passwd"),
	                    "root:x:0:0:root:/root:/bin/sh\n"
	                    "user:x:1000:1000::/home/user:/bin/sh\n");
	scratch_done(&s);
}

TEST(links_in_place_of_folders_and_files_are_replaced_not_followed)
{
	need_root();
	struct scratch s = new_root(NULL), other = scratch_new();
	struct error err = {0};

	scratch_write(&other, "file", "kept");
	assert_int_equal(symlinkat(other.path, s.fd, "tmp"), 0);
	char target[96];
	snprintf(target, sizeof(target), "%s/file", other.path);
	assert_int_equal(symlinkat(target, s.fd, "etc/resolv.conf"), 0);
	assert_int_equal(root_finish(s.path, &err), 0);
	assert_int_equal(scratch_mode(&s, "tmp"), S_IFDIR | 01777);
	assert_string_equal(scratch_read(&s, "etc/resolv.conf"), "");
	assert_string_equal(scratch_read(&other, "file"), "kept");
	scratch_done(&s);
	scratch_done(&other);
}

TEST(an_etc_that_is_a_link_is_refused)
{
	need_root();
	struct scratch s = scratch_new(), other = scratch_new();
	struct error err = {0};

	assert_int_equal(symlinkat(other.path, s.fd, "etc"), 0);
	assert_int_equal(root_finish(s.path, &err), -1);
	assert_int_equal(scratch_mode(&other, "passwd"), 0);
	scratch_done(&s);
	scratch_done(&other);
}

TEST(a_pipe_in_place_of_the_accounts_does_not_block)
{
	need_root();
	struct scratch s = new_root(NULL);
	struct error err = {0};

	assert_int_equal(mkfifoat(s.fd, "etc/passwd", 0644), 0);
	assert_int_equal(root_finish(s.path, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	scratch_done(&s);
}

int main(void)
{
	return RUN(CASE(a_root_gets_mount_points_files_and_a_user),
	           CASE(finishing_twice_changes_nothing),
	           CASE(an_image_that_has_such_a_user_keeps_it),
	           CASE(a_user_of_that_name_with_another_id_gets_a_neighbour),
	           CASE(a_user_gets_another_name_once),
	           CASE(a_root_without_any_accounts_gets_root_and_a_user),
	           CASE(links_in_place_of_folders_and_files_are_replaced_not_followed),
	           CASE(an_etc_that_is_a_link_is_refused),
	           CASE(a_pipe_in_place_of_the_accounts_does_not_block));
}
