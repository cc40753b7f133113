/* SPDX-License-Identifier: Apache-2.0 */
/* Most hosts, and their kernels, have no project quotas. Where there are some, name a folder in
 * ATOLL_QUOTA_FOLDER: then the limits themselves are tried, as root. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolation/project_quota.h"
#include "unit.h"

#define MIB (UINT64_C(1) << 20)

static int open_folder(int parent, const char *name)
{
	int fd;

	assert_true(mkdirat(parent, name, 0777) == 0 || errno == EEXIST);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* A folder of quotas, or -1: the test is skipped. */
static int quota_folder(void)
{
	const char *path = getenv("ATOLL_QUOTA_FOLDER");

	return path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

TEST(a_filesystem_without_them_is_named_with_the_cure)
{
	char path[] = "/dev/shm/atoll-quota-XXXXXX";
	struct error err = {0};
	AUTO_CLOSE int folder = -1;

	assert_non_null(mkdtemp(path));
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(project_quota_probe(folder, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "no project quotas"));
	assert_non_null(strstr(err.hint, "prjquota"));
	/* Nothing is left of the attempt. */
	assert_int_equal(rmdir(path), 0);
}

/* MiB that a user without rights can write into the folder; files, when they are empty. */
static unsigned write_as_nobody(int folder, unsigned mib, unsigned files)
{
	static char block[1 << 20];
	unsigned written = 0;
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		char name[32];

		if (setresuid(65534, 65534, 65534) < 0)
			_exit(1);
		for (unsigned i = 0; i < files; i++) {
			(void)snprintf(name, sizeof(name), "file%u", i);
			int fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

			if (fd < 0)
				break;
			for (unsigned n = 0; n < mib && write(fd, block, sizeof(block)) > 0; n++)
				written++;
			if (mib == 0)
				written++;
			(void)close(fd);
		}
		_exit(write(ends[1], &written, sizeof(written)) < 0);
	}
	assert_int_equal(read(ends[0], &written, sizeof(written)), (int)sizeof(written));
	(void)close(ends[0]);
	(void)close(ends[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return written;
}

/* For a folder with a limit statvfs(3) reports the limit and its use, not the disk's. */
static struct project_amount used_amount(int folder)
{
	struct statvfs counts;

	assert_int_equal(fstatvfs(folder, &counts), 0);
	return (struct project_amount){(counts.f_blocks - counts.f_bfree) * counts.f_frsize,
	                               counts.f_files - counts.f_ffree};
}

TEST(bytes_of_a_folder_are_limited_and_counted)
{
	const struct project_amount most = {4 * MIB, 10}, none = {0, 0};
	AUTO_CLOSE int top = quota_folder(), one = -1, two = -1;
	struct error err = {0};

	if (top < 0)
		skip();
	assert_int_equal(project_quota_probe(top, &err), 0);
	one = open_folder(top, "one");
	two = open_folder(top, "two");
	(void)fchmod(one, 0777);
	(void)fchmod(two, 0777);
	assert_int_equal(project_quota_limit(one, &most, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(project_quota_begin(one, &err), 0);
	assert_int_equal(project_quota_begin(two, &err), 0);
	assert_int_equal(project_quota_limit(one, &most, &err), 0);
	assert_in_range(write_as_nobody(one, 16, 1), 2, 4);
	assert_in_range(used_amount(one).bytes, 2 * MIB, 4 * MIB);
	assert_int_equal(write_as_nobody(two, 16, 1), 16);
	assert_int_equal(project_quota_limit(one, &none, &err), 0);
	assert_int_equal(write_as_nobody(one, 16, 1), 16);
}

TEST(files_of_a_folder_are_limited_and_counted)
{
	const struct project_amount most = {4 * MIB, 10};
	AUTO_CLOSE int top = quota_folder(), folder = -1;
	struct error err = {0};

	if (top < 0)
		skip();
	folder = open_folder(top, "files");
	(void)fchmod(folder, 0777);
	assert_int_equal(project_quota_begin(folder, &err), 0);
	assert_int_equal(project_quota_limit(folder, &most, &err), 0);
	/* The folder itself is one. */
	assert_int_equal(write_as_nobody(folder, 0, 30), 9);
	assert_int_equal(used_amount(folder).inodes, 10);
}

TEST(nothing_moves_between_projects)
{
	AUTO_CLOSE int top = quota_folder(), one = -1, two = -1, file = -1;
	struct error err = {0};

	if (top < 0)
		skip();
	one = open_folder(top, "from");
	two = open_folder(top, "to");
	assert_int_equal(project_quota_begin(one, &err), 0);
	assert_int_equal(project_quota_begin(two, &err), 0);
	file = openat(one, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	assert_int_equal(renameat(one, "file", two, "file"), -1);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(linkat(one, "file", two, "file", 0), -1);
	/* A folder without one takes links of all: merged layers are such folders. */
	assert_true(linkat(one, "file", top, "linked", 0) == 0 || errno == EEXIST);
	/* And the folders themselves do move, as layers do. */
	assert_int_equal(renameat(top, "from", top, "moved"), 0);
}

int main(void)
{
	return RUN(CASE(a_filesystem_without_them_is_named_with_the_cure),
	           CASE(bytes_of_a_folder_are_limited_and_counted),
	           CASE(files_of_a_folder_are_limited_and_counted),
	           CASE(nothing_moves_between_projects));
}
