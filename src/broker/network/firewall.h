/* SPDX-License-Identifier: Apache-2.0 */
/* broker/network/firewall.h — the host's rules for packets of all sandboxes: one nft table.
 *
 * The table is the same for every server on this host and is loaded as a whole, so that loading it
 * again changes nothing. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct egress_range;
struct egress_range6;
struct host_network;

/* Finds nameservers and lets uplinks forward for sandboxes; sets n->usable, or n->problem. */
void network_prepare_host(struct host_network *n);
/* From the text of a resolv.conf: the nameservers that a sandbox can reach (IPv4, not loopback). */
void network_nameservers_parse(struct host_network *n, struct span text);
/* The nft text for the slots first_slot … first_slot + count - 1. The rules are the same for every
 * server on the host; the allowed ranges are the chunk's own. */
void network_rules(struct buf *out, const struct host_network *n, uint32_t first_slot,
                   uint32_t count);
/* Loads the rules of a chunk; after a failure the network is not usable. */
void network_claim(struct host_network *n, uint32_t first_slot, uint32_t count);
/* Removes the table, which belongs to all servers on the host. */
void network_forget(void);

/* How the program nft is run: host/host.c does it by atoll-launch, with CAP_NET_ADMIN alone. */
struct network_nft_runner {
	int (*start)(const void *context, int in, int out, int *ret_pidfd, struct error *err);
	/* Waits for the end. */
	void (*reap)(const void *context, int pidfd, siginfo_t *ret);
	const void *context;
};
void network_run_nft_by(const struct network_nft_runner *runner);
/* Runs the program nft: all of the script or nothing. Its output goes to `ret_text` unless that is
 * NULL. */
MUST_CHECK int network_nft(struct span script, struct buf *ret_text, struct error *err);
void network_add_address(struct buf *out, uint32_t address);
void network_add_range(struct buf *out, const struct egress_range *range);
void network_add_range6(struct buf *out, const struct egress_range6 *range);
/* The rules for what sandboxes send to the host itself. */
void network_input_rules(struct buf *out);
