/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets: families, the host, its neighbours, the metadata service. */
#include "attempt.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif
#ifndef AF_ALG
#define AF_ALG 38
#endif

static enum outcome raw_sockets(const char *argument)
{
	static const struct {
		int family, type, protocol;
		const char *name;
	} kinds[] = {
	        {AF_PACKET, SOCK_RAW, 0x0300, "packet"},
	        {AF_INET, SOCK_RAW, IPPROTO_RAW, "raw IPv4"},
	        {AF_INET, SOCK_RAW, IPPROTO_TCP, "raw TCP"},
	        {AF_INET6, SOCK_RAW, IPPROTO_ICMPV6, "raw IPv6"},
	        {AF_VSOCK, SOCK_STREAM, 0, "vsock"},
	        {AF_ALG, SOCK_SEQPACKET, 0, "kernel crypto"},
	        {AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT, "uevent"},
	        {AF_NETLINK, SOCK_RAW, NETLINK_AUDIT, "audit"},
	        {AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER, "netfilter"},
	        {AF_BLUETOOTH, SOCK_RAW, 1, "bluetooth"},
	        {AF_KEY, SOCK_RAW, 2, "ipsec keys"},
	};
	enum outcome outcomes[11];

	(void)argument;
	for (unsigned i = 0; i < 11; i++) {
		int fd = socket(kinds[i].family, kinds[i].type, kinds[i].protocol);

		outcomes[i] = expect_refused(fd, kinds[i].name);
		if (fd >= 0)
			close(fd);
	}
	return worst(outcomes, 11);
}

/* Asks the kernel to take down interface 1 (lo): any change of the network will do. */
static enum outcome change_the_network(const char *argument)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
	} request = {.head = {.nlmsg_len = sizeof(request),
	                      .nlmsg_type = RTM_NEWLINK,
	                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
	             .info = {.ifi_index = 1, .ifi_change = 1, .ifi_flags = 0}};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[512];
	} reply;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	(void)argument;
	if (fd < 0)
		return held("netlink: %s", strerror(errno));
	if (send(fd, &request, sizeof(request), 0) < 0 || recv(fd, &reply, sizeof(reply), 0) < 0)
		return held("netlink send: %s", strerror(errno));
	if (reply.head.nlmsg_type == NLMSG_ERROR && reply.error.error == 0)
		return broke_out("the network can be changed");
	return held("netlink: %s", strerror(-reply.error.error));
}

/* 1 connected, 0 not within two seconds. */
static int can_connect(const char *address, unsigned port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), failure = 0;
	socklen_t size = sizeof(failure);

	inet_pton(AF_INET, address, &to.sin_addr);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		struct pollfd ready = {.fd = fd, .events = POLLOUT};

		failure = errno;
		if (failure == EINPROGRESS)
			failure = poll(&ready, 1, 2000) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR,
			                                                   &failure, &size) == 0
			                  ? failure
			                  : ETIMEDOUT;
	}
	close(fd);
	printf("%s:%u: %s\n", address, port, strerror(failure));
	return failure == 0;
}

/* `list` is "ADDRESS:PORT,ADDRESS:PORT…": listeners that the test has put on the host. */
static enum outcome connect_to(const char *list)
{
	char *copy = strdup(list), *save = NULL;
	enum outcome outcome = HELD;

	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		char *colon = strrchr(item, ':');

		if (!colon)
			continue;
		*colon = '\0';
		if (can_connect(item, (unsigned)strtoul(colon + 1, NULL, 10)))
			outcome = broke_out("connected to %s", item);
	}
	free(copy);
	return outcome;
}

static enum outcome metadata_service(const char *argument)
{
	(void)argument;
	if (can_connect("169.254.169.254", 80) || can_connect("169.254.170.2", 80) ||
	    can_connect("100.100.100.200", 80))
		return broke_out("a metadata address answered");
	return HELD;
}

static enum outcome abstract_socket(const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t size = strlen(name);

	if (size > sizeof(to.sun_path) - 2)
		size = sizeof(to.sun_path) - 2;
	memcpy(to.sun_path + 1, name, size);
	return expect_refused(
	        connect(fd, (struct sockaddr *)&to,
	                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size)),
	        "an abstract socket of the host");
}

/* `path` is the agent's socket as the host names it. */
static enum outcome agent_socket(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	return expect_refused(connect(fd, (struct sockaddr *)&to, sizeof(to)), path);
}

const struct attempt network_attempts[] = {
        {"raw_sockets", raw_sockets, "packet, raw, vsock, crypto and netlink sockets"},
        {"change_the_network", change_the_network, "reconfigure an interface"},
        {"connect_to", connect_to, "services of the host and of neighbours"},
        {"metadata_service", metadata_service, "cloud metadata addresses"},
        {"abstract_socket", abstract_socket, "an abstract unix socket of the host"},
        {"agent_socket", agent_socket, "the socket that atolld speaks through"},
        {0},
};
