/* SPDX-License-Identifier: Apache-2.0 */
/* broker/network/names.h — host names in egress rules: the part of the nft table that redirects to
 * the gateway of host names, and the files that tell the gateway the rules. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct host_network;
struct network_ruled;

/* Redirects connections of the slot to `denied` addresses, on the ports of HTTP, TLS and DNS, to
 * the gateway. */
MUST_CHECK int network_names_rules(struct buf *out, const struct host_network *n, uint32_t slot,
                                   struct span denied, struct error *err);
void network_names_removal(struct buf *out, uint32_t slot);
/* Tells the gateway the slot's rules; call it before nftables redirects anything there. */
MUST_CHECK int network_names_tell(const struct host_network *n, const struct network_ruled *ruled,
                                  struct error *err);
bool network_names_are_told(const struct host_network *n, uint32_t slot);
/* Does nothing when the gateway knows no rules of the slot. */
void network_names_forget(const struct host_network *n, uint32_t slot);
/* The slot whose rules are in this file of DATA/run/names; false when no slot has this address. */
bool network_names_slot(const struct host_network *n, const char *file, uint32_t *ret);
