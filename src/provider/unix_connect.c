/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/unix_connect.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/fd.h"

int unix_connect(int path_fd, int type, int64_t deadline, int *ret_fd, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return FAIL_ERRNO(err, "make a socket");
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", path_fd);
	while (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno == ECONNREFUSED)
			return FAIL(err, ERROR_UNAVAILABLE,
			            "connect: no process listens on the socket");
		if (errno != EAGAIN && errno != EINTR)
			return FAIL_ERRNO(err, "connect");
		if (cancel_is_said(cancel_current()))
			return FAIL(err, ERROR_UNAVAILABLE, "the call was cancelled");
		if (deadline_poll_ms(deadline) == 0)
			return FAIL(err, ERROR_TIMEOUT, "connect: not accepted in time");
		/* A full backlog answers EAGAIN, and poll(2) cannot wait for it to empty. */
		(void)poll(NULL, 0, 1);
	}
	if (fd_set_blocking(fd, true, err) < 0)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}
