/* SPDX-License-Identifier: Apache-2.0 */
/* broker/network/flows.h — conntrack: what the kernel remembers of connections.
 *
 * Conntrack decides once for a connection, or for datagrams between two ports, whether it is
 * allowed and where it leads. Rules that change later do not affect it until its entry is deleted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "sandbox/egress.h"

struct host_network;

struct flow {
	uint32_t from, to;   /* of its first packet; host byte order */
	uint32_t answers_of; /* the address that answers; differs from `to` when the flow was
	                        redirected */
	uint32_t leaves_by;  /* the address that is answered: the sandbox's own without NAT */
	struct address6 from6, to6; /* of a flow of IPv6, whose other addresses are 0 */
	uint8_t protocol;
};
/* Whether the flow stays redirected as long as it sends, whatever the rules say by then. Never true
 * of TCP, whose next packet meets the new rules. */
bool network_flow_is_led(const struct flow *flow);
/* Deletes the entries for which `is_over` is true, of one address or, with 0, of all. Later answers
 * go to the host, and the next packet counts as a first one. Takes milliseconds: the kernel
 * searches its whole table. */
typedef bool flow_is_over(const void *context, const struct flow *flow);
MUST_CHECK int network_flows_forget(uint32_t from, flow_is_over *is_over, const void *context,
                                    struct error *err);
/* The same for flows of IPv6; NULL: of all addresses. */
MUST_CHECK int network_flows_forget6(const struct address6 *from, flow_is_over *is_over,
                                     const void *context, struct error *err);
/* Deletes all entries of slots whose sandboxes are dead, before their addresses are reused. */
MUST_CHECK int network_flows_end(const struct host_network *n, const uint32_t *slots, size_t count,
                                 struct error *err);
