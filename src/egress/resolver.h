/* SPDX-License-Identifier: Apache-2.0 */
/* egress/resolver.h — asks nameservers for a name's IPv4 addresses. On the loop's thread. Private
 * to this folder. Keeps nothing: nameservers do. */
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
	unsigned lookups; /* under way */
};

struct lookup;
/* Called once, unless the lookup is given up before: DNS_OK with addresses, or why there are none.
 */
typedef void lookup_on_end(void *context, enum dns_code code,
                           const struct dns_addresses *addresses);
struct lookup_options {
	const char *name; /* valid; copied */
	unsigned *of_one; /* counts those of one sandbox; outlives the lookup */
	lookup_on_end *on_end;
	void *context;
};
/* NULL when too many are under way, of all or of this one. Never calls back before it returns. */
struct lookup *lookup_start(struct resolver *r, const struct lookup_options *options);
void lookup_cancel(struct lookup *lookup); /* NULL is fine */
