/* SPDX-License-Identifier: Apache-2.0 */
/* egress/resolver.h — asks nameservers for the IPv4 addresses of a name, and for its IPv6 addresses
 * if it has no others. Loop thread. No cache: the nameservers have one. */
#pragma once

#include "egress/query.h"
#include "loop/loop.h"

#define NAMESERVERS_MAX 3
#define LOOKUPS_OF_ONE_MAX 32 /* under way */

struct resolver {
	struct loop *loop;
	uint32_t servers[NAMESERVERS_MAX];
	unsigned server_count;
	uint16_t port;
	bool has_ipv6;    /* the host reaches IPv6 addresses */
	unsigned lookups; /* under way */
};

struct lookup;
/* Called once, unless the lookup is cancelled before: DNS_OK with addresses, or the reason. */
typedef void lookup_on_end(void *context, enum dns_code code,
                           const struct dns_addresses *addresses);
struct lookup_options {
	const char *name; /* valid; copied */
	unsigned *of_one; /* count of one sandbox's lookups; outlives the lookup */
	lookup_on_end *on_end;
	void *context;
};
/* NULL when too many lookups run, in total or for this sandbox. Never calls back before it returns.
 */
struct lookup *lookup_start(struct resolver *r, const struct lookup_options *options);
void lookup_cancel(struct lookup *lookup); /* NULL is fine */
