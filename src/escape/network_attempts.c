/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets: families, the host, the metadata service. */
#include "escape/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bytes.h"

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif
#ifndef AF_ALG
#define AF_ALG 38
#endif

static enum escape_status open_raw_sockets(const char *argument UNUSED)
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
	enum escape_status outcomes[11];

	for (unsigned i = 0; i < 11; i++) {
		int fd = socket(kinds[i].family, kinds[i].type, kinds[i].protocol);

		outcomes[i] = expect_refused(fd, kinds[i].name);
		if (fd >= 0)
			close(fd);
	}
	return worst_of(outcomes, 11);
}

/* Asks the kernel to change nothing of interface 1 (lo): it checks the right to change it first. */
static enum escape_status change_the_network(const char *argument UNUSED)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
	} request = {.head = {.nlmsg_len = sizeof(request),
	                      .nlmsg_type = RTM_NEWLINK,
	                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
	             .info = {.ifi_index = 1}};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[512];
	} reply;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return report_held("netlink: %s", strerror(errno));
	if (send(fd, &request, sizeof(request), 0) < 0 || recv(fd, &reply, sizeof(reply), 0) < 0)
		return report_held("netlink send: %s", strerror(errno));
	if (reply.head.nlmsg_type == NLMSG_ERROR && reply.error.error == 0)
		return report_escape("the network can be changed");
	return report_held("netlink: %s", strerror(-reply.error.error));
}

static enum escape_status reach_metadata_service(const char *argument UNUSED)
{
	return connect_to_metadata();
}

static enum escape_status connect_abstract_socket(const char *name)
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
	        "connect to the abstract socket");
}

/* `path` is the agent's socket as the host names it. */
static enum escape_status connect_agent_socket(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	return expect_refused(connect(fd, (struct sockaddr *)&to, sizeof(to)), path);
}

static enum escape_status connect_engine_sockets(const char *argument UNUSED)
{
	static const char *const paths[] = {
	        "/var/run/docker.sock",    "/run/docker.sock",    "/run/containerd/containerd.sock",
	        "/run/podman/podman.sock", "/run/crio/crio.sock", "/run/dbus/system_bus_socket",
	        "/run/systemd/private"};
	enum escape_status outcomes[COUNT_OF(paths)];

	for (unsigned i = 0; i < COUNT_OF(paths); i++)
		outcomes[i] = connect_agent_socket(paths[i]);
	return worst_of(outcomes, COUNT_OF(paths));
}

const struct attempt_function network_attempts[] = {
        {"open_raw_sockets", open_raw_sockets},
        {"change_the_network", change_the_network},
        {"connect_to_host", connect_to_list},
        {"reach_metadata_service", reach_metadata_service},
        {"connect_abstract_socket", connect_abstract_socket},
        {"connect_neighbour_abstract_socket", connect_abstract_socket},
        {"connect_engine_sockets", connect_engine_sockets},
        {"connect_agent_socket", connect_agent_socket},
        {0},
};
