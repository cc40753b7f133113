/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/network.h — Daytona's rules for the network of a sandbox. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

struct sandbox_record;

/* If a list is given, the sandbox reaches only what the lists contain. block_all overrides both
 * lists. */
struct daytona_network {
	bool block_all;
	const char *allow_list;  /* "10.0.0.0/8,1.1.1.1"; "" = no list */
	const char *domain_list; /* "example.com,*.example.org"; "" = no list */
};
/* The same as rules of sandbox/egress.h. */
MUST_CHECK int daytona_egress_format(struct arena *a, const struct daytona_network *network,
                                     const char **ret, struct error *err);
bool daytona_network_is_blocked(const struct sandbox_record *r);
/* The list of addresses or of host names of a sandbox; "" = no list. */
const char *daytona_allow_list(struct arena *a, const struct sandbox_record *r);
const char *daytona_domain_list(struct arena *a, const struct sandbox_record *r);
