/* SPDX-License-Identifier: Apache-2.0 */
/* egress/egress.h — the gateway through which sandboxes reach hosts that their rules allow by name.
 *
 *   sandbox --TCP 80, 443--> nftables of its slot --> gateway --> the name's own addresses
 *           --UDP 53------->                                 --> the host's nameserver
 *
 * For a sandbox with names in its rules, the broker redirects packets to forbidden addresses here
 * (broker/network/egress.c). The gateway reads the host name (look.h), compares it with the
 * sandbox's rules, looks up its addresses itself (the packet's destination does not matter), drops
 * addresses that no sandbox may reach, and copies bytes both ways. It answers DNS questions for
 * other names with "no such name" and does not forward them.
 *
 * The source address identifies the sandbox: nftables only redirects packets with the address of
 * their link. The rules of ADDRESS are the file of this name in a folder of the broker, read at
 * each connection; its first word is "=" and the sandbox's id. Each decision is reported. When the
 * file changes, open connections that it does not allow any more are closed.
 *
 * A connection for a name that is marked as decrypted goes to the credential proxy once it is
 * connected. It counts as one of the sandbox's until the proxy has ended it.
 *
 * With an upstream proxy, all connections leave through it (upstream.h), and names are judged by
 * the rules of addresses, too: nftables redirects all of a sandbox's connections here then.
 *
 * A name that has IPv6 addresses only is connected to there, if the host has IPv6. Sandboxes ask
 * and connect by IPv4 all the same: DNS_PLACEHOLDER stands for such a name.
 *
 * Connections of a project with a source address leave by sockets of another process (sources.h).
 *
 * One process with one thread, started by the supervisor. It sees only that folder, cannot fork,
 * and can only make IP sockets and pairs; it can bind none to an address or a port. It may be
 * killed at any time: its connections end, and new ones wait. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "sandbox/upstream.h"

struct egress_options {
	int http_fd, tls_fd, dns_fd; /* bound; http and tls listen */
	int rules_fd;                /* the folder, for reading */
	int handover_fd;             /* to the credential proxy (handover.h); -1: there is none */
	int sources_fd; /* to the process of sources.h; -1: none, source addresses are missing */
	int reports_fd; /* takes decisions (sandbox/decision.h) as datagrams; -1: none */
	const char *subnet, *allow; /* of the configuration: ranges with commas */
	const char *subnet6;     /* of the sandboxes' IPv6 addresses; NULL: the host's IPv6 is not
	                          * used */
	const char *nameservers; /* addresses with commas */
	uint16_t nameserver_port;
	struct upstream_proxy proxy; /* through which all leaves; port 0: none */
	struct span login;           /* at the proxy, "USER:PASSWORD"; empty: none */
	/* Called when all descriptors are open, before the first byte of a sandbox is read. */
	int (*confine)(const void *context, struct error *err);
	const void *context;
};
/* Runs until it fails. */
MUST_CHECK int egress_run(const struct egress_options *options, struct error *err);

/* The IPv4 nameservers of a resolv.conf, in the form of egress_options; "" when it has none. */
#define EGRESS_NAMESERVERS_SIZE 64
void egress_nameservers(struct span resolv_conf, char out[EGRESS_NAMESERVERS_SIZE]);
