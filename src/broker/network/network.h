/* SPDX-License-Identifier: Apache-2.0 */
/* broker/network/network.h — the network of sandboxes: addresses and settings.
 *
 * A sandbox with internet has one veth pair: `eth0` inside with an address of its own (/32) and a
 * route by way of 169.254.1.1, `atollSLOT` outside with a route to that address (link.h). Where the
 * host has IPv6 (uplink6.h) there is an IPv6 address, too (/128), and a route by way of fe80::1.
 * Both ends have fixed neighbour entries, so that nothing is looked up and nothing can be spoofed.
 * There is no bridge. The namespace belongs to the host's user namespace: root inside has no power
 * over it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "isolation/ids.h"
#include "sandbox/egress.h"
#include "sandbox/egress_ipv6.h"

#define NETWORK_NAMESERVERS_MAX 3
#define NETWORK_LINK_SIZE 16
#define NETWORK_FORCED_MAX 8
/* A sandbox's next hop. The outer end of its link answers at this address for the gateway of host
 * names. */
#define NETWORK_GATEWAY "169.254.1.1"

enum network_family {
	NETWORK_IPV4,
	NETWORK_IPV6,
	NETWORK_FAMILIES,
};

/* Interfaces that forward because servers on this host say so (forced.h). */
struct network_forced {
	char links[NETWORK_FORCED_MAX][NETWORK_LINK_SIZE];
	unsigned count;
};

struct network_range {
	uint32_t address; /* host byte order */
	unsigned prefix;
};

struct host_network {
	struct network_range subnet;
	struct network_range allow[NETWORK_ALLOW_MAX];
	unsigned allow_count;
	struct egress_range6 allow6[NETWORK_ALLOW_MAX];
	unsigned allow6_count;
	struct egress_range6 subnet6; /* an option */
	uint32_t nameservers[NETWORK_NAMESERVERS_MAX];
	unsigned nameserver_count;
	char resolv_conf[256];
	unsigned char ruled[SLOTS_MAX / 8 + 1]; /* slots with egress rules; see egress.h */
	const struct network_gateway *gateway;  /* an option; NULL: there is none */
	unsigned log_group; /* of the kernel's packet log, for decisions; 0 = none */
	int names_fd; /* DATA/run/names: ADDRESS has the egress rules of a sandbox; see names.h */
	/* All that sandboxes send leaves through the gateway for names, which has an upstream
	 * proxy: nothing is forwarded. */
	bool is_proxied;
	struct network_forced forced[NETWORK_FAMILIES];
	bool has_ipv6;         /* the host's kernel */
	bool wants_ipv6;       /* an option: sandboxes have IPv6 where the host has it */
	bool ipv6;             /* sandboxes have it */
	const char *obstacle6; /* why they do not, as the log says; NULL: they do */
	bool has_uplink;       /* a default route; without it links are made and lead nowhere */
	bool usable;           /* false: only blocked sandboxes; `problem` says why */
	struct error problem;
};

/* "10.213.0.0/16"; a bare address is a /32. Refuses bits behind the prefix. */
MUST_CHECK int network_range_parse(const char *text, struct network_range *ret, struct error *err);
/* Adds the ranges of a comma list, which may be empty, to n->allow and n->allow6. */
MUST_CHECK int network_allow_parse(struct host_network *n, const char *text, struct error *err);
/* The address of a slot's sandbox; ERROR_LIMIT when the subnet is too small. */
MUST_CHECK int network_address(const struct host_network *n, uint32_t slot, uint32_t *ret,
                               struct error *err);
/* The slot that has this address; false when none has. */
bool network_slot_of(const struct host_network *n, uint32_t address, uint32_t *ret);
/* The same for IPv6. */
void network_address6(const struct host_network *n, uint32_t slot, struct address6 *ret);
bool network_slot_of6(const struct host_network *n, const struct address6 *address, uint32_t *ret);
/* A range of private IPv6 addresses with room for all slots: in fc00::/7, /48 to /96, and without
 * bits behind its prefix. */
MUST_CHECK int network_subnet6_parse(const char *text, struct egress_range6 *ret,
                                     struct error *err);
void network_link_name(uint32_t slot, char out[NETWORK_LINK_SIZE]);
