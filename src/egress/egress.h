/* SPDX-License-Identifier: Apache-2.0 */
/* egress/egress.h — the gateway by which sandboxes reach hosts that are allowed to them by name.
 *
 *   sandbox --TCP 80, 443--> nftables of its slot --> gateway --> the name's own addresses
 *           --UDP 53------->                                 --> the host's nameserver
 *
 * The broker leads there what a sandbox with names in its rules sends to addresses that it must not
 * reach (broker/network/egress.c). The gateway reads whose name it is for (look.h), compares it with the
 * sandbox's rules, asks for its addresses itself (where the packet was going does not matter),
 * leaves out those that no sandbox may reach, and carries bytes both ways. Questions for names that
 * are not allowed are answered with "no such name", and leave the host no more than the rest does.
 *
 * Whose a connection is its source address tells: nftables leads only what has the address of the
 * link that it came by. The rules of ADDRESS are the file of this name in a folder of the broker's,
 * read at each connection; when it changes, connections under way to what it allows no more end.
 *
 * One process, one thread, started by the supervisor; it sees no file but that folder, may make no
 * process and no socket but of IPv4, and knows nothing but names. It may be killed at any time:
 * connections end with it, new ones wait. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

struct egress_options {
	int http_fd, tls_fd, dns_fd; /* bound; http and tls listen */
	int rules_fd;                /* the folder, for reading */
	const char *subnet, *allow;  /* of the configuration: ranges with commas */
	const char *nameservers;     /* addresses with commas */
	uint16_t nameserver_port;
	/* Called once all is open, and before the first byte of a sandbox is read. */
	int (*confine)(const void *context, struct error *err);
	const void *context;
};
/* Until it fails. */
MUST_CHECK int egress_run(const struct egress_options *options, struct error *err);

/* The nameservers of a resolv.conf, as such options want them; "" when it has none of IPv4. */
#define EGRESS_NAMESERVERS_SIZE 64
void egress_nameservers(struct span resolv_conf, char out[EGRESS_NAMESERVERS_SIZE]);
