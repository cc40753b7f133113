/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"

static char folder_path[] = "/tmp/atoll-file-XXXXXX";
static int folder;

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder_path))
		return -1;
	folder = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return mkdirat(folder, "sub", 0755);
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlinkat(folder, "sub/a", 0);
	(void)unlinkat(folder, "sub", AT_REMOVEDIR);
	(void)unlinkat(folder, "a", 0);
	(void)close(folder);
	return rmdir(folder_path);
}

static unsigned count_entries(const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fdopendir(fd);
	unsigned count = 0;

	assert_non_null(entries);
	while (readdir(entries))
		count++;
	(void)closedir(entries);
	return count - 2;
}

TEST(a_file_is_replaced_whole_and_leaves_nothing_else)
{
	AUTO(buf_done) struct buf text = {0};
	struct stat status;
	struct error err;

	assert_int_equal(file_write(folder, "sub/a", SPAN("first, longer"), 0600, &err), 0);
	assert_int_equal(file_write(folder, "sub/a", SPAN("second"), 0644, &err), 0);
	assert_int_equal(file_read(folder, "sub/a", &text, &err), 0);
	assert_string_equal(buf_text(&text), "second");
	assert_int_equal(fstatat(folder, "sub/a", &status, 0), 0);
	assert_int_equal(status.st_mode & 07777, 0644);
	assert_int_equal(count_entries("sub"), 1);
}

TEST(the_mode_is_not_subject_to_the_umask)
{
	mode_t before = umask(0777);
	struct stat status;
	struct error err;

	assert_int_equal(file_write(folder, "a", SPAN(""), 0600, &err), 0);
	(void)umask(before);
	assert_int_equal(fstatat(folder, "a", &status, 0), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
}

TEST(a_write_that_fails_leaves_nothing)
{
	struct error err;
	unsigned before = count_entries(".");

	assert_int_equal(file_write(folder, "sub", SPAN("x"), 0600, &err), -1);
	assert_int_equal(file_write(folder, "missing/a", SPAN("x"), 0600, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(count_entries("."), before);
}

TEST(reading_obeys_the_limit)
{
	AUTO(buf_done) struct buf small = BUF(3);
	struct error err;

	assert_int_equal(file_write(folder, "a", SPAN("1234"), 0600, &err), 0);
	assert_int_equal(file_read(folder, "a", &small, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_non_null(strstr(err.text, "read 'a'"));
	assert_int_equal(file_read(folder, "missing", &small, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

TEST(a_poke_writes_to_files_that_exist)
{
	AUTO(buf_done) struct buf text = {0};
	struct error err;

	assert_int_equal(file_write(folder, "a", SPAN("...."), 0600, &err), 0);
	assert_int_equal(file_poke(folder, "a", "ab", &err), 0);
	assert_int_equal(file_read(folder, "a", &text, &err), 0);
	assert_string_equal(buf_text(&text), "ab..");
	assert_int_equal(file_poke(folder, "missing", "x", &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(file_poke(AT_FDCWD, "/dev/full", "x", &err), -1);
	assert_int_equal(err.code, ERROR_NO_SPACE);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
	        CASE(a_file_is_replaced_whole_and_leaves_nothing_else),
	        CASE(the_mode_is_not_subject_to_the_umask),
	        CASE(a_write_that_fails_leaves_nothing),
	        CASE(reading_obeys_the_limit),
	        CASE(a_poke_writes_to_files_that_exist),
	};

	return cmocka_run_group_tests(cases, make_folder, remove_folder);
}
