/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"

/* openat2(2) answers EAGAIN when a rename elsewhere made its check of ".." uncertain. */
#define OPEN_ATTEMPTS 32
#define READ_SIZE (16 * 1024)

void socket_drop(int *fd)
{
	static const struct sockaddr nobody = {.sa_family = AF_UNSPEC};

	if (*fd >= 0)
		(void)connect(*fd, &nobody, sizeof(nobody));
	fd_forget(fd);
}

int fd_write_all(int fd, const void *data, size_t size, struct error *err)
{
	const char *at = data;

	while (size > 0) {
		ssize_t wrote = write(fd, at, size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return FAIL_ERRNO(err, "write");
		at += wrote;
		size -= (size_t)wrote;
	}
	return 0;
}

int fd_read_to_end(int fd, struct buf *out, struct error *err)
{
	for (;;) {
		size_t room = out->size_max - out->size;
		size_t size = room < READ_SIZE ? room : READ_SIZE;
		char past_end, *at = size ? buf_reserve(out, size) : &past_end;
		ssize_t got;

		if (!at)
			return FAIL(err, ERROR_TOO_LARGE, "more than %zu bytes", out->size_max);
		got = read(fd, at, size ? size : 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return FAIL_ERRNO(err, "read");
		if (got == 0)
			return 0;
		if (size == 0)
			return FAIL(err, ERROR_TOO_LARGE, "more than %zu bytes", out->size_max);
		buf_commit(out, (size_t)got);
	}
}

int fd_open_beneath(int folder, const char *path, const struct fd_open_options *options,
                    int *ret_fd, struct error *err)
{
	struct open_how how = {
	        .flags = (unsigned)(options->flags | O_CLOEXEC),
	        .mode = options->flags & O_CREAT ? options->mode & 07777 : 0,
	        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	long fd = -1;

	for (int i = 0; i < OPEN_ATTEMPTS; i++) {
		fd = fd_open_by(folder, path, &how);
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	if (fd < 0 && errno == EXDEV)
		return FAIL(err, ERROR_FORBIDDEN, "open '%s': the path leaves its folder", path);
	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	*ret_fd = (int)fd;
	return 0;
}

int fd_set_blocking(int fd, bool blocking, struct error *err)
{
	int flags = fcntl(fd, F_GETFL), wanted;

	if (flags < 0)
		return FAIL_ERRNO(err, "get the flags of descriptor %d", fd);
	wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
	if (wanted != flags && fcntl(fd, F_SETFL, wanted) < 0)
		return FAIL_ERRNO(err, "set the flags of descriptor %d", fd);
	return 0;
}

int fd_wait(int fd, short events, int64_t deadline, struct error *err)
{
	struct pollfd entry = {.fd = fd, .events = events};

	for (;;) {
		int wait_ms = deadline_poll_ms(deadline);
		int count = poll(&entry, 1, wait_ms);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return FAIL_ERRNO(err, "poll descriptor %d", fd);
		if (count > 0 && entry.revents & POLLNVAL)
			return FAIL(err, ERROR_SYSTEM, "descriptor %d is not open", fd);
		if (count > 0)
			return 1;
		if (deadline_poll_ms(deadline) == 0)
			return 0;
	}
}

/* Only the owner of a file may request a lease. Root of a user namespace must change its uid to the
 * owner first, which resets the process's dumpable flag and parent-death signal. */
static int lease_as_owner(int fd)
{
	int hides = prctl(PR_GET_DUMPABLE), ends = 0, result, error;
	struct stat st;
	uid_t before;

	if (fstat(fd, &st) < 0 || prctl(PR_GET_PDEATHSIG, &ends) < 0)
		return -1;
	before = (uid_t)setfsuid(st.st_uid);
	result = fcntl(fd, F_SETLEASE, F_RDLCK);
	error = errno;
	(void)setfsuid(before);
	(void)prctl(PR_SET_DUMPABLE, hides);
	(void)prctl(PR_SET_PDEATHSIG, ends);
	errno = error;
	return result;
}

/* The kernel grants a read lease only while no process has the file open for writing; a later
 * writer raises a signal that is ignored here. On a file system without leases the file counts as
 * unopened; when the lease is not permitted, it counts as open. */
static bool may_have_writer(int fd)
{
	int result = -1;

	if (fcntl(fd, F_SETSIG, SIGURG) == 0)
		result = fcntl(fd, F_SETLEASE, F_RDLCK);
	if (result < 0 && errno == EACCES)
		result = lease_as_owner(fd);
	return result < 0 && (errno == EAGAIN || errno == EACCES || errno == EPERM);
}

bool fd_file_is_still(int folder, const char *name, const struct stat *before)
{
	const struct fd_open_options options = {.flags = O_RDONLY | O_NONBLOCK};
	struct error ignored = {0};
	AUTO_CLOSE int fd = -1;
	struct stat now;

	if (fd_open_beneath(folder, name, &options, &fd, &ignored) < 0 || may_have_writer(fd))
		return false;
	return fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_ino == before->st_ino && now.st_dev == before->st_dev &&
	       now.st_size == before->st_size && now.st_mode == before->st_mode &&
	       now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}
