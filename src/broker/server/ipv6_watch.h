/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/ipv6_watch.h — follows the host's IPv6 while the broker runs.
 *
 * Docker and libvirt make a router of a host: then no interface is forced to forward any more, and
 * what it forwards for others is no business of Atoll. A default route may come by way of another
 * interface, or come for the first time: a router advertisement often arrives after the server's
 * start.
 *
 * The kernel ends all forcing when 0 is written to net.ipv6.conf.all.forwarding, also when it was 0
 * before ("sysctl --system" does that on many hosts), and tells nobody. So a timer looks, too. */
#pragma once

#include "broker/host/event.h"

struct broker;

struct ipv6_watch {
	struct fd_watch watch;
	struct timer look;
	int fd; /* -1: nothing is watched */
};

/* Without it the broker works and logs a warning. */
void ipv6_watch_open(struct broker *b);
void ipv6_watch_close(struct broker *b);
