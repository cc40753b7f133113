/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "cli/files/archive.h"

static struct arena arena;
static struct error err;
static char folder[] = "/tmp/atoll-archive-XXXXXX";

static const char *in_folder(const char *name)
{
	return arena_format(&arena, "%s/%s", folder, name);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

static int remove_folder(void **state)
{
	(void)state;
	arena_done(&arena);
	return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void write_text(const char *name, const char *text, mode_t mode)
{
	assert_int_equal(file_write(AT_FDCWD, in_folder(name), span_of(text), mode, &err), 0);
}

static void expect_text(const char *name, const char *text)
{
	AUTO(buf_done) struct buf found = {0};

	assert_int_equal(file_read(AT_FDCWD, in_folder(name), &found, &err), 0);
	assert_string_equal(buf_text(&found), text);
}

static int unpack_file(const char *tar, const char *target)
{
	AUTO_CLOSE int fd = open(in_folder(tar), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	if (mkdir(in_folder(target), 0755) < 0)
		assert_int_equal(errno, EEXIST);
	return archive_unpack(fd, in_folder(target), &err);
}

TEST(a_folder_survives_the_way_there_and_back)
{
	AUTO_CLOSE int fd = -1;
	struct stat status;
	char link[64] = "";

	assert_int_equal(mkdir(in_folder("from"), 0755), 0);
	assert_int_equal(mkdir(in_folder("from/sub"), 0755), 0);
	assert_int_equal(mkdir(in_folder("from/empty"), 0700), 0);
	write_text("from/a", "first", 0644);
	write_text("from/sub/run", "#!/bin/sh\n", 04755);
	write_text("from/sub/\xC3\xA9", "", 0600);
	assert_int_equal(symlink("../a", in_folder("from/sub/link")), 0);
	assert_int_equal(mkfifo(in_folder("from/pipe"), 0600), 0);
	fd = open(in_folder("whole.tar"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(archive_pack(in_folder("from"), fd, &err), 0);
	assert_int_equal(unpack_file("whole.tar", "to"), 0);
	expect_text("to/a", "first");
	expect_text("to/sub/link", "first");
	assert_int_equal(readlink(in_folder("to/sub/link"), link, sizeof(link) - 1), 4);
	assert_string_equal(link, "../a");
	assert_int_equal(stat(in_folder("to/sub/run"), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0755); /* without the set-id bit */
	assert_int_equal(stat(in_folder("to/empty"), &status), 0);
	assert_int_equal(stat(in_folder("to/sub/\xC3\xA9"), &status), 0);
	assert_int_equal(lstat(in_folder("to/pipe"), &status), -1);
}

struct hostile {
	const char *name, *hardlink, *symlink;
	mode_t type;
};

static void write_hostile(const char *tar, const struct hostile *rows, size_t count)
{
	struct archive *out = archive_write_new();

	(void)archive_write_set_format_pax_restricted(out);
	assert_int_equal(archive_write_open_filename(out, in_folder(tar)), ARCHIVE_OK);
	for (size_t i = 0; i < count; i++) {
		struct archive_entry *entry = archive_entry_new();
		bool has_data = rows[i].type == AE_IFREG && !rows[i].hardlink;

		archive_entry_set_pathname(entry, rows[i].name);
		archive_entry_set_filetype(entry, rows[i].type);
		archive_entry_set_perm(entry, 0755);
		archive_entry_set_size(entry, has_data ? 4 : 0);
		if (rows[i].hardlink)
			archive_entry_set_hardlink(entry, rows[i].hardlink);
		if (rows[i].symlink)
			archive_entry_set_symlink(entry, rows[i].symlink);
		assert_true(archive_write_header(out, entry) >= ARCHIVE_WARN);
		if (has_data)
			assert_int_equal(archive_write_data(out, "evil", 4), 4);
		archive_entry_free(entry);
	}
	assert_int_equal(archive_write_free(out), ARCHIVE_OK);
}

/* Whatever the archive says, the file outside stays as it is and nothing appears beside the
 * target. */
static void attack(const char *target, const struct hostile *rows, size_t count)
{
	struct stat status;

	write_text("victim", "safe", 0600);
	write_hostile("hostile.tar", rows, count);
	(void)!unpack_file("hostile.tar", target);
	expect_text("victim", "safe");
	assert_int_equal(lstat(in_folder("planted"), &status), -1);
	assert_int_equal(lstat("/atoll-planted", &status), -1);
}

#define ATTACK(target, ...)                                                                        \
	attack((target), (const struct hostile[]){__VA_ARGS__},                                    \
	       COUNT_OF(((const struct hostile[]){__VA_ARGS__})))

TEST(names_cannot_climb_out)
{
	ATTACK("t1", {.name = "../planted", .type = AE_IFREG});
	ATTACK("t2", {.name = "a/../../planted", .type = AE_IFREG});
	ATTACK("t3", {.name = "/atoll-planted", .type = AE_IFREG});
	ATTACK("t4", {.name = "../victim", .type = AE_IFREG});
}

TEST(links_are_not_followed)
{
	ATTACK("t5", {.name = "l", .symlink = "..", .type = AE_IFLNK},
	       {.name = "l/planted", .type = AE_IFREG});
	ATTACK("t6", {.name = "l", .symlink = "../victim", .type = AE_IFLNK},
	       {.name = "l", .type = AE_IFREG});
	ATTACK("t7", {.name = "d", .symlink = "/", .type = AE_IFLNK},
	       {.name = "d/atoll-planted", .type = AE_IFDIR});
}

TEST(a_hard_link_cannot_reach_a_file_outside)
{
	ATTACK("t8", {.name = "h", .hardlink = "../victim", .type = AE_IFREG},
	       {.name = "h", .type = AE_IFREG});
	ATTACK("t9", {.name = "l", .symlink = "../victim", .type = AE_IFLNK},
	       {.name = "h", .hardlink = "l", .type = AE_IFREG}, {.name = "h", .type = AE_IFREG});
	ATTACK("t10", {.name = "h", .hardlink = "/etc/passwd", .type = AE_IFREG});
}

TEST(devices_are_not_made)
{
	struct stat status;

	ATTACK("t11", {.name = "null", .type = AE_IFCHR}, {.name = "fifo", .type = AE_IFIFO});
	assert_int_equal(lstat(in_folder("t11/null"), &status), -1);
	assert_int_equal(lstat(in_folder("t11/fifo"), &status), -1);
}

TEST(what_is_no_archive_is_refused)
{
	write_text("noise.tar", "this is not a tar archive, but it is long enough to be read",
	           0600);
	assert_int_equal(unpack_file("noise.tar", "t12"), -1);
	assert_true(err.text[0]);
}

TEST(a_truncated_archive_is_refused)
{
	ATTACK("t13", {.name = "a", .type = AE_IFREG});
	assert_int_equal(truncate(in_folder("hostile.tar"), 514), 0);
	assert_int_equal(unpack_file("hostile.tar", "t14"), -1);
}

TEST(packing_into_nothing_fails)
{
	AUTO_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	write_text("t1/a", "x", 0600);
	assert_int_equal(archive_pack(in_folder("t1"), full, &err), -1);
	assert_int_equal(archive_pack(in_folder("missing"), full, &err), -1);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
	        CASE(a_folder_survives_the_way_there_and_back),
	        CASE(names_cannot_climb_out),
	        CASE(links_are_not_followed),
	        CASE(a_hard_link_cannot_reach_a_file_outside),
	        CASE(devices_are_not_made),
	        CASE(what_is_no_archive_is_refused),
	        CASE(a_truncated_archive_is_refused),
	        CASE(packing_into_nothing_fails),
	};

	return cmocka_run_group_tests(cases, make_folder, remove_folder);
}
