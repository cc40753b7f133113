/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/server/uplink_watch.h"

#include <errno.h>
#include <linux/netconf.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "broker/network/forced.h"
#include "broker/network/link.h"
#include "broker/network/network.h"
#include "broker/server/guard.h"
#include "broker/server/state.h"
#include "netlink/netlink.h"

#define LOOK_MS 2000
#define DRAIN_MAX 256
#define RECEIVE_MAX 16384

/* The option of all interfaces, not of each that comes and goes. */
static bool is_about_all(const struct nlmsghdr *head)
{
	const size_t fixed = NLMSG_SPACE(sizeof(struct netconfmsg));
	int32_t index = 0;
	struct span found;

	if (head->nlmsg_len < fixed)
		return false;
	found = netlink_find((struct span){(const char *)head + fixed, head->nlmsg_len - fixed},
	                     NETCONFA_IFINDEX);
	if (found.size == sizeof(index))
		memcpy(&index, found.data, sizeof(index));
	return index == NETCONFA_IFINDEX_ALL;
}

static bool is_default_route(struct nlmsghdr *head)
{
	struct rtmsg route;

	if (head->nlmsg_len < NLMSG_LENGTH(sizeof(route)))
		return false;
	memcpy(&route, NLMSG_DATA(head), sizeof(route));
	return route.rtm_dst_len == 0;
}

static bool message_matters(struct nlmsghdr *head)
{
	return head->nlmsg_type == RTM_NEWNETCONF
	               ? is_about_all(head)
	               : head->nlmsg_type == RTM_NEWROUTE && is_default_route(head);
}

/* Whether something may have changed; lost messages may have said so. */
static bool read_messages(int fd)
{
	char data[RECEIVE_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	bool matters = false;

	for (unsigned i = 0; i < DRAIN_MAX; i++) {
		ssize_t got = recv(fd, data, sizeof(data), MSG_DONTWAIT);
		struct nlmsghdr *head = (void *)data;
		unsigned left = got > 0 ? (unsigned)got : 0;

		if (got < 0 && errno != ENOBUFS && errno != EINTR)
			break;
		matters = matters || (got < 0 && errno == ENOBUFS);
		for (; NLMSG_OK(head, left) && !matters; head = NLMSG_NEXT(head, left))
			matters = message_matters(head);
	}
	return matters;
}

static void forward_links(struct broker *b, enum network_family family)
{
	struct error ignored = {0};

	for (uint32_t slot = 0; slot < SLOTS_MAX; slot++)
		if (slots_is_ours(&b->slots, slot) && slots_is_used(&b->slots, slot)) {
			(void)!(family == NETWORK_IPV4 ? network_link_forward4(slot, &ignored)
			                               : network_link_forward6(slot, &ignored));
			error_clear(&ignored);
		}
}

static void follow_ipv4(struct broker *b)
{
	struct host_network *n = b->host.network;

	if (network_forced_follow(n, NETWORK_IPV4, n->usable && n->has_uplink))
		forward_links(b, NETWORK_IPV4);
	if (n->usable)
		guard_try_again(b);
}

static bool can_have_ipv6(const struct host_network *n)
{
	return n->wants_ipv6 && n->has_ipv6;
}

static void follow_ipv6(struct broker *b, bool had_ipv6)
{
	struct host_network *n = b->host.network;
	bool is_set_again = network_forced_follow(n, NETWORK_IPV6, n->ipv6);

	guard_gain_ipv6(b);
	if (is_set_again || (n->ipv6 && !had_ipv6))
		forward_links(b, NETWORK_IPV6);
}

static void follow_host(struct broker *b)
{
	const bool had_ipv6 = b->host.network->ipv6;

	follow_ipv4(b);
	if (can_have_ipv6(b->host.network))
		follow_ipv6(b, had_ipv6);
}

static void on_uplink_change(struct fd_watch *watch)
{
	if (read_messages(watch->fd))
		follow_host(CONTAINER_OF(watch, struct broker, uplinks.watch));
}

static void on_look(struct timer *timer)
{
	struct broker *b = CONTAINER_OF(timer, struct broker, uplinks.look);

	if (network_forced_is_lost(b->host.network, NETWORK_IPV4) ||
	    (can_have_ipv6(b->host.network) &&
	     network_forced_is_lost(b->host.network, NETWORK_IPV6)))
		follow_host(b);
	timer_start(&b->events, timer, LOOK_MS);
}

static int watch_uplinks(struct broker *b, struct error *err)
{
	const struct sockaddr_nl address = {
	        .nl_family = AF_NETLINK,
	        .nl_groups = 1u << (RTNLGRP_IPV4_NETCONF - 1) | 1u << (RTNLGRP_IPV4_ROUTE - 1) |
	                     1u << (RTNLGRP_IPV6_NETCONF - 1) | 1u << (RTNLGRP_IPV6_ROUTE - 1)};
	AUTO_CLOSE int fd = -1;

	if (netlink_open_socket(NETLINK_ROUTE, SOCK_NONBLOCK, &fd, err) < 0)
		return -1;
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return FAIL_ERRNO(err, "listen to changes of the host's network");
	b->uplinks.watch.on_ready = on_uplink_change;
	if (watch_start(&b->events, &b->uplinks.watch, fd, err) < 0)
		return -1;
	b->uplinks.fd = TAKE_FD(fd);
	return 0;
}

void uplink_watch_open(struct broker *b)
{
	const struct host_network *n = b->host.network;
	struct error err = {0};

	b->uplinks.fd = -1;
	if (watch_uplinks(b, &err) < 0) {
		log_warning("changes of the host's network go unnoticed", FAILURE(&err));
		return;
	}
	/* What has changed since the host was prepared, or since the last broker. */
	follow_host(b);
	if (n->usable)
		forward_links(b, NETWORK_IPV4);
	if (n->ipv6)
		forward_links(b, NETWORK_IPV6);
	b->uplinks.look.on_time = on_look;
	timer_start(&b->events, &b->uplinks.look, LOOK_MS);
}

void uplink_watch_close(struct broker *b)
{
	if (b->uplinks.fd < 0)
		return;
	timer_stop(&b->uplinks.look);
	watch_stop(&b->events, &b->uplinks.watch);
	fd_forget(&b->uplinks.fd);
}
