/* SPDX-License-Identifier: Apache-2.0 */
/* fd_open_by on a kernel without openat2, which a filter makes of this one. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

static void forbid_openat2(void)
{
	struct sock_filter code[] = {
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {.len = 4, .filter = code};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static int open_below(int folder, const char *path, uint64_t flags, uint64_t resolve)
{
	const struct open_how how = {
	        .flags = flags | O_CLOEXEC, .mode = flags & O_CREAT ? 0600 : 0, .resolve = resolve};

	return fd_open_by(folder, path, &how);
}

static void expect(int folder, const char *path, uint64_t resolve, int failure)
{
	int fd = open_below(folder, path, O_RDONLY, resolve);

	if (failure) {
		assert_int_equal(fd, -1);
		assert_int_equal(errno, failure);
	} else {
		assert_true(fd >= 0);
		assert_int_equal(close(fd), 0);
	}
}

static int make_tree(char *path)
{
	int folder, fd;

	assert_non_null(mkdtemp(path));
	folder = open(path, O_PATH | O_DIRECTORY);
	assert_true(folder >= 0);
	assert_int_equal(mkdirat(folder, "in", 0700), 0);
	fd = openat(folder, "in/file", O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(symlinkat("in", folder, "link"), 0);
	assert_int_equal(symlinkat("../../etc/passwd", folder, "in/out"), 0);
	assert_int_equal(symlinkat("/etc/passwd", folder, "absolute"), 0);
	assert_int_equal(symlinkat("loop", folder, "loop"), 0);
	assert_int_equal(symlinkat("../in/file", folder, "in/round"), 0);
	return folder;
}

static void remove_tree(int folder, const char *path)
{
	static const char *const names[] = {"in/file", "in/out",   "in/round", "in/new",
	                                    "link",    "absolute", "loop"};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		(void)unlinkat(folder, names[i], 0);
	assert_int_equal(unlinkat(folder, "in", AT_REMOVEDIR), 0);
	(void)close(folder);
	assert_int_equal(rmdir(path), 0);
}

static void check_tree(int folder)
{
	char deep[300] = "";
	int fd;

	expect(folder, "in/file", RESOLVE_BENEATH, 0);
	expect(folder, "./in/../in//file", RESOLVE_BENEATH, 0);
	expect(folder, "link/file", RESOLVE_BENEATH, 0);
	expect(folder, "in/round", RESOLVE_BENEATH, 0);
	expect(folder, ".", RESOLVE_BENEATH, 0);
	expect(folder, "in/..", RESOLVE_BENEATH, 0);
	expect(folder, "in/", RESOLVE_BENEATH, 0);
	expect(folder, "..", RESOLVE_BENEATH, EXDEV);
	expect(folder, "in/../..", RESOLVE_BENEATH, EXDEV);
	expect(folder, "/etc/passwd", RESOLVE_BENEATH, EXDEV);
	expect(folder, "in/out", RESOLVE_BENEATH, EXDEV);
	expect(folder, "absolute", RESOLVE_BENEATH, EXDEV);
	expect(folder, "loop", RESOLVE_BENEATH, ELOOP);
	expect(folder, "nothing/file", RESOLVE_BENEATH, ENOENT);
	expect(folder, "in/file/more", RESOLVE_BENEATH, ENOTDIR);
	expect(folder, "", RESOLVE_BENEATH, ENOENT);
	expect(folder, "link/file", RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, ELOOP);
	expect(folder, "in/file", RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, 0);
	expect(folder, "in/file", RESOLVE_NO_MAGICLINKS, 0);
	expect(folder, "in/file", RESOLVE_IN_ROOT, ENOSYS);
	(void)memset(deep, 'a', 256);
	expect(folder, deep, RESOLVE_BENEATH, ENAMETOOLONG);
	assert_int_equal(open_below(folder, "in/out", O_RDONLY | O_NOFOLLOW, RESOLVE_BENEATH), -1);
	assert_int_equal(errno, ELOOP);
	fd = open_below(folder, "link/new", O_WRONLY | O_CREAT | O_EXCL, RESOLVE_BENEATH);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(faccessat(folder, "in/new", F_OK, 0), 0);
	assert_int_equal(unlinkat(folder, "in/new", 0), 0);
}

/* The same rules hold on both kernels. The filter stays, so it comes last. */
TEST(a_path_stays_in_its_folder_without_openat2)
{
	char path[] = "/tmp/atoll-test-open-XXXXXX";
	int folder = make_tree(path);

	expect(folder, "in/out", RESOLVE_BENEATH, EXDEV);
	expect(folder, "absolute", RESOLVE_BENEATH, EXDEV);
	forbid_openat2();
	check_tree(folder);
	remove_tree(folder, path);
}

int main(void)
{
	return RUN(CASE(a_path_stays_in_its_folder_without_openat2));
}
