/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/network.h — whom a sandbox may reach, in Daytona's words. Private to this folder.
 */
#pragma once

#include "base/arena.h"
#include "store/store.h"

/* Lists of addresses and of hosts' names leave nothing else within reach; block_all goes before
 * them.
 */
struct daytona_network {
	bool block_all;
	const char *allow_list;  /* "10.0.0.0/8,1.1.1.1"; "" = no rule */
	const char *domain_list; /* "example.com,*.example.org"; the same */
};
/* As rules of sandbox/egress.h. */
MUST_CHECK int daytona_egress_format(struct arena *a, const struct daytona_network *network,
                                     const char **ret, struct error *err);
bool daytona_network_is_blocked(const struct sandbox_record *r);
/* "" when there is none. */
const char *daytona_allow_list(struct arena *a, const struct sandbox_record *r);
const char *daytona_domain_list(struct arena *a, const struct sandbox_record *r);
