/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/host/mountinfo.h"
#include "unit.h"

#define ID "abcdefghij234567abcd"
#define OTHER "bbbbbbbbbb222222bbbb"

/* A data folder on the root, one that is a bind mount, one on a subvolume, one with a blank. */
static const char here[] =
        "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "22 21 0:5 / /proc rw - proc proc rw\n"
        "no line of it\n"
        "30 21 8:1 /srv/store /var/bound rw,relatime - ext4 /dev/sda1 rw\n"
        "31 21 0:30 /@data /var/sub ro,relatime - btrfs /dev/sdb rw\n"
        "32 21 8:1 /my\\040disk/a\\134b /mnt/my\\040disk rw - ext4 /dev/sda1 rw\n"
        "33 21 8:2 / /var/own rw - ext4 /dev/sdc rw\n";

static struct mount_row row_of(const char *device, const char *root)
{
	return (struct mount_row){.device = span_of(device), .root = span_of(root)};
}

/* 0: is no part of it, 1: lies below it, 2: is that. */
static int has(int64_t mount, const char *path, const char *device, const char *root)
{
	const struct mount_row row = row_of(device, root);
	struct mount_folder place;
	struct error err = {0};
	int ret;

	mount_folder_init(&place);
	assert_int_equal(mount_folder_find(SPAN(here), mount, path, &place, &err), 0);
	ret = mount_folder_has(&place, &row) + mount_folder_is(&place, &row);
	assert_true(mount_folder_has(&place, &row) || !mount_folder_is(&place, &row));
	mount_folder_done(&place);
	return ret;
}

TEST(a_folder_is_told_by_all_of_its_path)
{
	static const char files[] = "/data/volumes/" ID "/files";

	assert_int_equal(has(21, files, "8:1", files), 2);
	assert_int_equal(has(21, files, "8:1", "/data/volumes/" ID "/files/a/b"), 1);
	assert_int_equal(has(21, files, "8:1", "/data/volumes/" ID "/files/a//deleted"), 1);
	/* What code inside calls a folder of another volume. */
	assert_int_equal(has(21, files, "8:1", "/data/volumes/" OTHER "/files/" ID "/files"), 0);
	assert_int_equal(
	        has(21, files, "8:1", "/data/volumes/" OTHER "/files/data/volumes/" ID "/files"),
	        0);
	assert_int_equal(has(21, files, "7:0", files), 0);
	assert_int_equal(has(21, files, "8:1", "/data/volumes/" ID "/filesystem"), 0);
	assert_int_equal(has(21, files, "8:1", "/data/volumes/" ID), 0);
	assert_int_equal(has(21, files, "8:1", "/"), 0);
}

TEST(where_its_filesystem_is_mounted_says_nothing)
{
	assert_int_equal(has(30, "/var/bound/v", "8:1", "/srv/store/v"), 2);
	assert_int_equal(has(30, "/var/bound", "8:1", "/srv/store"), 2);
	assert_int_equal(has(30, "/var/bound/v", "8:1", "/var/bound/v"), 0);
	assert_int_equal(has(31, "/var/sub/v", "0:30", "/@data/v/a"), 1);
	assert_int_equal(has(31, "/var/sub/v", "8:1", "/@data/v"), 0);
	assert_int_equal(has(33, "/var/own/v", "8:2", "/v"), 2);
	assert_int_equal(has(33, "/var/own", "8:2", "/"), 2);
	assert_int_equal(has(33, "/var/own", "8:2", "/v"), 1);
	assert_int_equal(has(21, "/", "8:1", "/"), 2);
}

TEST(blanks_are_as_the_kernel_writes_them)
{
	assert_int_equal(has(32, "/mnt/my disk/v w", "8:1", "/my\\040disk/a\\134b/v\\040w"), 2);
	assert_int_equal(has(21, "/a\tb\n\\", "8:1", "/a\\011b\\012\\134"), 2);
}

TEST(what_is_on_no_mount_of_the_list_is_not_found)
{
	static const struct {
		int64_t mount;
		const char *path;
	} missing[] = {{99, "/data"}, {30, "/var/boundary"}, {30, "/var"}, {30, "/srv/store"}};
	struct mount_folder place;
	struct error err = {0};

	mount_folder_init(&place);
	for (unsigned i = 0; i < COUNT_OF(missing); i++) {
		assert_int_equal(mount_folder_find(SPAN(here), missing[i].mount, missing[i].path,
		                                   &place, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_SYSTEM);
	}
	mount_folder_done(&place);
}

TEST(a_mount_is_read_only_by_its_own_options)
{
	struct span rest = SPAN(here);
	struct mount_row row;
	unsigned count = 0;

	while (mountinfo_next(&rest, &row)) {
		assert_int_equal(row.is_read_only, row.id == 31);
		count++;
	}
	assert_int_equal(count, 6);
	rest = SPAN("30 21 8:1 /a /b rorw,ro - ext4 /dev/sda1 ro\n");
	assert_true(mountinfo_next(&rest, &row));
	assert_false(row.is_read_only);
}

TEST(an_open_folder_is_found_whatever_it_is_called)
{
	char path[] = "/tmp/atoll unit\\XXXXXX";
	struct mount_folder place, inside;
	struct error err = {0};
	int top, folder;

	assert_non_null(mkdtemp(path));
	top = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(top, "in", 0700), 0);
	folder = openat(top, "in", O_PATH | O_DIRECTORY | O_CLOEXEC);
	mount_folder_init(&place);
	mount_folder_init(&inside);
	assert_int_equal(mount_folder_of(top, &place, &err), 0);
	assert_int_equal(mount_folder_of(folder, &inside, &err), 0);
	assert_string_equal(place.device, inside.device);
	assert_non_null(strstr(buf_text(&place.root), "atoll\\040unit\\134"));
	buf_add_text(&place.root, "/in");
	assert_string_equal(buf_text(&place.root), buf_text(&inside.root));
	mount_folder_done(&place);
	mount_folder_done(&inside);
	assert_int_equal(unlinkat(top, "in", AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(path), 0);
	(void)close(top);
	(void)close(folder);
}

/* A process that has ended and that its parent has not waited for; then its number is free. */
TEST(mounts_of_an_ended_process_are_a_conflict)
{
	AUTO(buf_done) struct buf text = BUF(MOUNTINFO_MAX);
	struct error err = {0};
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(mountinfo_read(getpid(), &text, &err), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(mountinfo_read(pid, &text, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
	assert_int_equal(mountinfo_read(pid, &text, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
}

int main(void)
{
	return RUN(CASE(a_folder_is_told_by_all_of_its_path),
	           CASE(where_its_filesystem_is_mounted_says_nothing),
	           CASE(blanks_are_as_the_kernel_writes_them),
	           CASE(what_is_on_no_mount_of_the_list_is_not_found),
	           CASE(a_mount_is_read_only_by_its_own_options),
	           CASE(an_open_folder_is_found_whatever_it_is_called),
	           CASE(mounts_of_an_ended_process_are_a_conflict));
}
