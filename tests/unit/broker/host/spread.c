/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/host/spread.h"
#include "unit.h"

/* What /sys has of device 8:1, on which lies an ext4. */
static void make_sys(const char *folder)
{
	static const char *const folders[] = {"dev", "dev/block", "fs", "fs/ext4", "fs/ext4/sda1"};
	char path[128];

	for (unsigned i = 0; i < COUNT_OF(folders); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	(void)snprintf(path, sizeof(path), "%s/dev/block/8:1", folder);
	assert_int_equal(symlink("../../devices/pci0000:00/block/sda/sda1", path), 0);
	(void)snprintf(path, sizeof(path), "%s/dev/block/8:2", folder);
	assert_int_equal(symlink("sda2", path), 0);
}

static bool is_due_with(int sys, const char *journal_task)
{
	struct error err = {0};
	AUTO_CLOSE int fd = openat(sys, "fs/ext4/sda1/journal_task",
	                           O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, journal_task, strlen(journal_task), &err), 0);
	return spread_is_due(sys, makedev(8, 1));
}

TEST(only_an_ext4_without_a_journal_is_spread)
{
	char folder[] = "/tmp/atoll-spread.XXXXXX", line[64];
	int sys;

	assert_non_null(mkdtemp(folder));
	make_sys(folder);
	sys = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_false(spread_is_due(sys, makedev(8, 1))); /* nothing is said of a journal */
	assert_true(is_due_with(sys, "<none>\n"));
	assert_false(is_due_with(sys, "371\n"));
	assert_false(is_due_with(sys, ""));
	assert_false(spread_is_due(sys, makedev(8, 2)));  /* another filesystem */
	assert_false(spread_is_due(sys, makedev(0, 42))); /* no disk at all */
	assert_false(spread_is_due(-1, makedev(8, 1)));
	fd_forget(&sys);
	(void)snprintf(line, sizeof(line), "rm -r %s", folder);
	assert_int_equal(system(line), 0);
}

/* Whatever filesystem that is: either it is done, or it is said why not. */
TEST(a_folder_keeps_its_other_flags)
{
	char path[] = "/tmp/atoll-spread.XXXXXX";
	struct error err = {0};
	int before = 0, after = 0, folder;

	assert_non_null(mkdtemp(path));
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ioctl(folder, FS_IOC_GETFLAGS, &before) < 0 || spread_folder(folder, &err) < 0) {
		assert_int_equal(spread_folder(folder, &err), -1);
		assert_true(err.text[0]);
	} else {
		assert_int_equal(ioctl(folder, FS_IOC_GETFLAGS, &after), 0);
		assert_int_equal(after, before | FS_TOPDIR_FL);
	}
	fd_forget(&folder);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(spread_folder(-1, &err), -1);
}

int main(void)
{
	return RUN(CASE(only_an_ext4_without_a_journal_is_spread),
	           CASE(a_folder_keeps_its_other_flags));
}
