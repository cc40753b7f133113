/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/loopback.h — a socket that listens on a free loopback port. */
#pragma once

#include <assert.h>
#include <netinet/in.h>
#include <sys/socket.h>

static inline int loopback_listen(uint16_t *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert(fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, 64) == 0 &&
	       getsockname(fd, (struct sockaddr *)&address, &size) == 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}
