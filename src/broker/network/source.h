/* SPDX-License-Identifier: Apache-2.0 */
/* broker/network/source.h — the source address of a project: the part of the nft table by which
 * what a sandbox sends leaves with that address, or not at all. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

struct host_network;
struct network_ruled;

/* Sets the source address of a slot that its rules name, if any. With one, the slot has no IPv6.
 * Comes first in the slot's egress chain. */
MUST_CHECK int network_source_rules(struct buf *out, const struct host_network *n,
                                    const struct network_ruled *ruled, struct error *err);
void network_source_removal(struct buf *out, const struct host_network *n, uint32_t slot);
/* What the texts above need to be there. */
void network_source_sets(struct buf *out);
