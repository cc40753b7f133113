/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/server/broker_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

static int share_lock(int fd)
{
	int status;

	do
		status = flock(fd, LOCK_SH);
	while (status < 0 && errno == EINTR);
	return status;
}

int broker_lock_enter(const char *path, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	if (share_lock(fd) < 0)
		return FAIL_ERRNO(err, "lock '%s'", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

bool broker_lock_is_last(int fd)
{
	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void broker_lock_share(int fd)
{
	(void)share_lock(fd);
}
