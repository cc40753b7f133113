/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/sources.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

union source_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* The port is chosen when it connects, so that each host may be reached from all ports. */
static int open_source(uint32_t address, int *ret_fd)
{
	const struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int yes = 1;

	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes)) < 0 ||
	    bind(fd, (const struct sockaddr *)&own, sizeof(own)) < 0)
		return errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* The socket, or the error number without one. */
static int send_source(int fd, int failure, int source_fd)
{
	union source_control control = {.bytes = {0}};
	struct iovec part = {&failure, sizeof(failure)};
	struct msghdr message = {.msg_iov = &part,
	                         .msg_iovlen = 1,
	                         .msg_control = control.bytes,
	                         .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &source_fd, sizeof(int));
	if (source_fd < 0) {
		message.msg_control = NULL;
		message.msg_controllen = 0;
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

void sources_serve(int fd)
{
	uint32_t address;

	while (recv(fd, &address, sizeof(address), 0) == (ssize_t)sizeof(address)) {
		AUTO_CLOSE int source_fd = -1;
		int failure = open_source(address, &source_fd);

		if (send_source(fd, failure, source_fd) < 0)
			return;
	}
}

static int take_fd(struct msghdr *message)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

int sources_ask(int fd, uint32_t address, int *ret_fd, struct error *err)
{
	union source_control control;
	int failure = 0;
	struct iovec part = {&failure, sizeof(failure)};
	struct msghdr message = {.msg_iov = &part,
	                         .msg_iovlen = 1,
	                         .msg_control = control.bytes,
	                         .msg_controllen = sizeof(control.bytes)};
	ssize_t got;
	int source_fd;

	if (send(fd, &address, sizeof(address), MSG_NOSIGNAL) != (ssize_t)sizeof(address))
		return FAIL_ERRNO(err, "ask for a socket with a source address");
	got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	if (got < 0)
		return FAIL_ERRNO(err, "wait for a socket with a source address");
	source_fd = take_fd(&message);
	if (got != (ssize_t)sizeof(failure) || (source_fd < 0 && failure == 0))
		return FAIL(err, ERROR_UNAVAILABLE, "the process for source addresses has ended");
	*ret_fd = source_fd;
	return 0;
}
