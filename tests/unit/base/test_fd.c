/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"

static char folder_path[] = "/tmp/atoll-fd-XXXXXX";
static int folder;

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder_path))
		return -1;
	folder = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(folder, "sub", 0755) < 0 || symlinkat("sub", folder, "inside") < 0 ||
	    symlinkat("/etc", folder, "outside") < 0 || symlinkat("../..", folder, "above") < 0)
		return -1;
	return 0;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"inside", "outside", "above", "sub/new", "sub/owned"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		(void)unlinkat(folder, names[i], 0);
	(void)unlinkat(folder, "sub", AT_REMOVEDIR);
	(void)close(folder);
	return rmdir(folder_path);
}

static enum error_code open_beneath(const char *path, int flags)
{
	struct fd_open_options options = {.flags = flags, .mode = 0640};
	AUTO_CLOSE int fd = -1;
	struct error err;

	if (fd_open_beneath(folder, path, &options, &fd, &err) < 0)
		return err.code;
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	return ERROR_NONE;
}

TEST(a_path_cannot_leave_its_folder)
{
	assert_int_equal(open_beneath("sub", O_RDONLY), ERROR_NONE);
	assert_int_equal(open_beneath("sub/../sub", O_RDONLY), ERROR_NONE);
	assert_int_equal(open_beneath("..", O_RDONLY), ERROR_FORBIDDEN);
	assert_int_equal(open_beneath("/etc", O_RDONLY), ERROR_FORBIDDEN);
	assert_int_equal(open_beneath("missing", O_RDONLY), ERROR_NOT_FOUND);
}

TEST(no_link_is_followed)
{
	assert_int_equal(open_beneath("inside", O_RDONLY), ERROR_INVALID);
	assert_int_equal(open_beneath("inside/.", O_RDONLY), ERROR_INVALID);
	assert_int_equal(open_beneath("above", O_RDONLY), ERROR_INVALID);
	assert_int_equal(open_beneath("outside/passwd", O_RDONLY), ERROR_INVALID);
}

TEST(a_file_is_created_beneath_with_its_mode)
{
	struct stat status;

	assert_int_equal(open_beneath("sub/new", O_WRONLY | O_CREAT | O_EXCL), ERROR_NONE);
	assert_int_equal(fstatat(folder, "sub/new", &status, 0), 0);
	assert_int_equal(status.st_mode & 0777 & ~0640u, 0);
	assert_int_equal(open_beneath("sub/new", O_WRONLY | O_CREAT | O_EXCL), ERROR_CONFLICT);
}

static void make_pipe(int ends[2])
{
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

TEST(bytes_written_are_read_whole)
{
	AUTO(buf_done) struct buf rest = BUF(5);
	char start[3];
	struct error err;
	int ends[2];

	make_pipe(ends);
	assert_int_equal(fd_write_all(ends[1], "abcdefgh", 8, &err), 0);
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(read(ends[0], start, 3), 3);
	assert_memory_equal(start, "abc", 3);
	assert_int_equal(fd_read_to_end(ends[0], &rest, &err), 0);
	assert_string_equal(buf_text(&rest), "defgh");
	(void)close(ends[0]);
}

TEST(one_byte_past_the_limit_is_too_much)
{
	AUTO(buf_done) struct buf out = BUF(7);
	struct error err;
	int ends[2];

	make_pipe(ends);
	assert_int_equal(fd_write_all(ends[1], "abcdefgh", 8, &err), 0);
	(void)close(ends[1]);
	assert_int_equal(fd_read_to_end(ends[0], &out, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	(void)close(ends[0]);
}

TEST(failures_of_the_descriptor_are_reported)
{
	AUTO(buf_done) struct buf out = BUF(7);
	struct error err;
	int ends[2];

	assert_int_equal(fd_write_all(-1, "a", 1, &err), -1);
	assert_int_equal(err.sys_errno, EBADF);
	assert_int_equal(fd_read_to_end(-1, &out, &err), -1);
	assert_int_equal(fd_set_blocking(-1, true, &err), -1);
	make_pipe(ends);
	(void)close(ends[0]);
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(fd_write_all(ends[1], "a", 1, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	(void)close(ends[1]);
}

TEST(waiting_ends_with_data_or_at_the_deadline)
{
	struct error err;
	int ends[2];

	make_pipe(ends);
	assert_int_equal(fd_wait(ends[0], POLLIN, deadline_after(1), &err), 0);
	assert_int_equal(fd_wait(ends[0], POLLIN, 0, &err), 0);
	assert_int_equal(fd_write_all(ends[1], "a", 1, &err), 0);
	assert_int_equal(fd_wait(ends[0], POLLIN, DEADLINE_NEVER, &err), 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	assert_int_equal(fd_wait(ends[0], POLLIN, DEADLINE_NEVER, &err), -1);
}

TEST(blocking_can_be_switched)
{
	struct error err;
	int ends[2];

	make_pipe(ends);
	assert_int_equal(fd_set_blocking(ends[0], false, &err), 0);
	assert_true(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
	assert_int_equal(fd_set_blocking(ends[0], true, &err), 0);
	assert_false(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

enum asks { AS_ROOT, AS_ROOT_OF_A_NAMESPACE, AS_ANOTHER };

/* In a process of its own: as root without CAP_LEASE, such as root in a sandbox, or as another. */
static bool is_still(const struct stat *before, enum asks asks)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
		struct __user_cap_data_struct caps[2] = {{0}};
		int ends = 0;

		if (asks == AS_ROOT_OF_A_NAMESPACE) {
			if (syscall(SYS_capget, &head, caps) < 0)
				_exit(2);
			caps[0].effective &= ~(1U << CAP_LEASE);
			caps[0].permitted = caps[0].effective;
			if (syscall(SYS_capset, &head, caps) < 0)
				_exit(3);
		}
		if (asks == AS_ANOTHER && setresuid(1001, 1001, 1001) < 0)
			_exit(4);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)prctl(PR_SET_DUMPABLE, 0);
		status = fd_file_is_still(folder, "sub/owned", before);
		if (prctl(PR_GET_PDEATHSIG, &ends) < 0 || ends != SIGKILL ||
		    prctl(PR_GET_DUMPABLE) != 0)
			_exit(5);
		_exit(status);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_in_range(WEXITSTATUS(status), 0, 1);
	return WEXITSTATUS(status) == 1;
}

TEST(who_writes_to_anothers_file_is_seen_and_doubt_keeps_it)
{
	struct stat before;
	int fd;

	if (geteuid() != 0)
		skip();
	assert_int_equal(fchmod(folder, 0755), 0);
	fd = openat(folder, "sub/owned", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0 && fchown(fd, 1000, 1000) == 0 && fstat(fd, &before) == 0);
	assert_false(is_still(&before, AS_ROOT));
	assert_false(is_still(&before, AS_ROOT_OF_A_NAMESPACE));
	(void)close(fd);
	assert_true(is_still(&before, AS_ROOT));
	assert_true(is_still(&before, AS_ROOT_OF_A_NAMESPACE));
	assert_false(is_still(&before, AS_ANOTHER));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
	        CASE(a_path_cannot_leave_its_folder),
	        CASE(no_link_is_followed),
	        CASE(a_file_is_created_beneath_with_its_mode),
	        CASE(bytes_written_are_read_whole),
	        CASE(one_byte_past_the_limit_is_too_much),
	        CASE(failures_of_the_descriptor_are_reported),
	        CASE(waiting_ends_with_data_or_at_the_deadline),
	        CASE(blocking_can_be_switched),
	        CASE(who_writes_to_anothers_file_is_seen_and_doubt_keeps_it),
	};

	return cmocka_run_group_tests(cases, make_folder, remove_folder);
}
