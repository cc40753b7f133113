/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/uplink_watch.h — follows the host's default routes and its forwarding while the
 * broker runs.
 *
 * Docker and libvirt make a router of a host: then no interface is forced to forward any more, and
 * what it forwards for others is no business of Atoll. A default route may come by way of another
 * interface, or come for the first time: a router advertisement often arrives after the server's
 * start.
 *
 * For IPv4 the kernel takes the option from all interfaces when the host ends being a router. For
 * IPv6 it ends all forcing when 0 is written to net.ipv6.conf.all.forwarding, also when it was 0
 * before ("sysctl --system" does that on many hosts), and sends no message. So a timer looks, too.
 */
#pragma once

#include "broker/host/event.h"

struct broker;

struct uplink_watch {
	struct fd_watch watch;
	struct timer look;
	int fd; /* -1: nothing is watched */
};

/* Without it the broker works and logs a warning. */
void uplink_watch_open(struct broker *b);
void uplink_watch_close(struct broker *b);
