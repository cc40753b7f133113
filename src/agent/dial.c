/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/dial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t fill_loopback(union address *a, const struct agent_dial *request)
{
	if (request->version == 4) {
		a->v4 = (struct sockaddr_in){.sin_family = AF_INET,
		                             .sin_port = htons((uint16_t)request->port),
		                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
		return sizeof(a->v4);
	}
	a->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
	                              .sin6_port = htons((uint16_t)request->port),
	                              .sin6_addr = in6addr_loopback};
	return sizeof(a->v6);
}

int dial_server(const struct agent_dial *request, int *ret_fd, struct error *err)
{
	union address address;
	socklen_t size;

	if (request->port < 1 || request->port > UINT16_MAX)
		return FAIL(err, ERROR_INVALID, "port %u is not between 1 and 65535",
		            request->port);
	if (request->version != 4 && request->version != 6)
		return FAIL(err, ERROR_INVALID, "IP version %u is neither 4 nor 6",
		            request->version);
	size = fill_loopback(&address, request);
	AUTO_CLOSE int fd =
	        socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || (connect(fd, &address.any, size) < 0 && errno != EINPROGRESS))
		return FAIL_ERRNO(err, "connect to port %u", request->port);
	*ret_fd = TAKE_FD(fd);
	return 0;
}
