/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/egress_ipv6.h — IPv6 in the network rules of a sandbox (sandbox/egress.h). Pure.
 *
 * IPv6 entries deny and allow as IPv4 entries do. Rules that were written for IPv4 open no IPv6:
 * all IPv6 addresses are denied where all IPv4 addresses are, and where the rules deny IPv4
 * addresses and no IPv6 address. Allowed entries win over this, too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sandbox/egress.h"

#define EGRESS_ALL6 "::/0"

/* Both ends included. */
struct egress_range6 {
	struct address6 first, last;
};
struct egress_ranges6 {
	struct egress_range6 items[SANDBOX_EGRESS_RANGES_MAX];
	size_t count;
};
/* Accepts "2001:db8::1" and "2001:db8::/32"; returns false for anything else. Bits after the prefix
 * are ignored. */
bool egress_range6_parse(struct span text, struct egress_range6 *ret);
/* The same for one address. */
bool egress_address6_parse(struct span text, struct address6 *ret);
bool egress_range6_has(const struct egress_range6 *range, const struct address6 *address);
bool egress_ranges6_have(const struct egress_ranges6 *ranges, const struct address6 *address);

/* The ranges that this text denies: ascending, not adjacent. */
MUST_CHECK int sandbox_egress_denied6(const char *text, struct egress_ranges6 *ret,
                                      struct error *err);
/* The first IPv6 entry that denies the address; else, if the text denies it, the first entry that
 * denies anything. Borrows the text. */
struct span sandbox_egress_rule_of_address6(const char *text, const struct address6 *address);

/* Whether every sandbox is kept from this address, whatever its rules say: everything but 2000::/3,
 * and in it documentation and what leads to IPv4 addresses (6to4, Teredo). Loopback, private,
 * link-local, multicast, mapped and translated (NAT64) addresses are outside of 2000::/3.
 * egress_refused_range6 numbers the ranges from 0 and returns false after the last. */
bool egress_is_refused6(const struct address6 *address);
bool egress_refused_range6(size_t number, struct egress_range6 *ret);
/* Ranges of the option network_allow, of both families. */
struct egress_opened {
	struct egress_range items[NETWORK_ALLOW_MAX];
	struct egress_range6 items6[NETWORK_ALLOW_MAX];
	unsigned count, count6;
};
bool egress_opened_is_full(const struct egress_opened *o);
/* Adds one range to a list that is not full; false: the text is no range. */
bool egress_opened_add(struct egress_opened *o, struct span text);
bool egress_opened_has(const struct egress_opened *o, uint32_t address);
bool egress_opened_has6(const struct egress_opened *o, const struct address6 *address);
/* Whether the option network_allow may open the range: in fc00::/7, or in 2000::/3 without 6to4 and
 * Teredo. Other ranges belong to one link or one host, or lead to IPv4 addresses, whose own rules
 * would be passed by. */
bool egress_range6_may_open(const struct egress_range6 *range);
