/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/data.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account/account.h"
#include "base/fd.h"
#include "unit.h"

static char root[64], data[128];

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/atoll-data-XXXXXX");
	(void)snprintf(data, sizeof(data), "%s/a/b", mkdtemp(root));
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status;
	(void)type;
	(void)at;
	return remove(path);
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static mode_t mode_of(const char *name)
{
	char path[256];
	struct stat status;

	(void)snprintf(path, sizeof(path), "%s/%s", data, name);
	assert_int_equal(lstat(path, &status), 0);
	return status.st_mode & 07777;
}

TEST(a_missing_folder_is_made_with_its_parents)
{
	struct data_folder d;
	struct error err;

	assert_int_equal(data_open(data, NULL, &d, &err), 0);
	assert_int_equal(mode_of("run"), 0711);
	assert_int_equal(mode_of("store"), 0700);
	assert_int_equal(mode_of("tmp"), 0700);
	data_close(&d);
	assert_int_equal(data_open(data, NULL, &d, &err), 0); /* and again */
	data_close(&d);
}

TEST(two_servers_do_not_share_a_folder)
{
	struct data_folder first, second;
	struct error err;

	assert_int_equal(data_open(data, NULL, &first, &err), 0);
	assert_int_equal(data_open(data, NULL, &second, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	assert_int_equal(second.fd, -1);
	data_close(&first);
	assert_int_equal(data_open(data, NULL, &second, &err), 0);
	data_close(&second);
}

TEST(the_first_key_is_made_once_and_for_its_owner_alone)
{
	AUTO_CLOSE int first = -1, second = -1;
	char one[64] = "", two[64] = "";
	struct account_key key;
	struct data_folder d;
	struct error err;

	assert_int_equal(data_open(data, NULL, &d, &err), 0);
	assert_int_equal(data_key_open(&d, &first, &err), 0);
	assert_int_equal(data_key_open(&d, &second, &err), 0);
	assert_int_equal(mode_of("admin.key"), 0600);
	assert_int_equal(pread(first, one, sizeof(one), 0), ACCOUNT_KEY_SIZE + 1);
	assert_int_equal(pread(second, two, sizeof(two), 0), ACCOUNT_KEY_SIZE + 1);
	assert_string_equal(one, two);
	assert_int_equal(account_key_parse((struct span){one, ACCOUNT_KEY_SIZE}, &key, &err), 0);
	data_close(&d);
}

TEST(links_in_the_data_folder_are_not_followed)
{
	AUTO_CLOSE int fd = -1;
	struct data_folder d;
	struct error err;
	char path[256];

	assert_int_equal(data_open(data, NULL, &d, &err), 0);
	(void)snprintf(path, sizeof(path), "%s/admin.key", data);
	assert_int_equal(symlink("/etc/hostname", path), 0);
	assert_int_equal(data_key_open(&d, &fd, &err), -1);
	data_close(&d);
	(void)snprintf(path, sizeof(path), "%s/tmp", data);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/etc", path), 0);
	assert_int_equal(data_open(data, NULL, &d, &err), -1);
}

TEST(a_server_keeps_its_name_and_only_its_user_enters_the_keys)
{
	struct data_folder d;
	struct id first, again;
	struct error err;

	assert_int_equal(data_open(data, NULL, &d, &err), 0);
	data_close(&d);
	assert_int_equal(mode_of("keys"), 0700);
	assert_int_equal(mode_of("node.id"), 0644);
	assert_int_equal(data_node_read(data, &first, &err), 0);
	assert_true(id_is_valid(first.text));
	assert_int_equal(data_open(data, NULL, &d, &err), 0);
	data_close(&d);
	assert_int_equal(data_node_read(data, &again, &err), 0);
	assert_string_equal(first.text, again.text);
}

TEST(a_name_that_is_none_is_refused_and_not_replaced)
{
	static const char *const bad[] = {"", "short\n", "ABCDEFGHIJKLMNOPQRST\n",
	                                  "abcdefghijklmnopqrstu\n"};
	struct data_folder d;
	struct id id;
	struct error err;

	assert_int_equal(data_open(data, NULL, &d, &err), 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(file_write(d.fd, "node.id", span_of(bad[i]), 0644, &err), 0);
		assert_int_equal(data_node_read(data, &id, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_non_null(strstr(err.text, "node.id"));
	}
	data_close(&d);
}

TEST(what_cannot_be_a_folder_is_refused)
{
	struct data_folder d;
	struct error err;

	assert_int_equal(data_open("", NULL, &d, &err), -1);
	assert_int_equal(data_open("/dev/null/x", NULL, &d, &err), -1);
	assert_int_equal(data_open("/dev/null", NULL, &d, &err), -1);
}

#define FOLDER_CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(FOLDER_CASE(a_missing_folder_is_made_with_its_parents),
	           FOLDER_CASE(two_servers_do_not_share_a_folder),
	           FOLDER_CASE(the_first_key_is_made_once_and_for_its_owner_alone),
	           FOLDER_CASE(links_in_the_data_folder_are_not_followed),
	           FOLDER_CASE(a_server_keeps_its_name_and_only_its_user_enters_the_keys),
	           FOLDER_CASE(a_name_that_is_none_is_refused_and_not_replaced),
	           CASE(what_cannot_be_a_folder_is_refused));
}
