/* SPDX-License-Identifier: Apache-2.0 */
/* broker/network/link.h — a sandbox's network namespace and its link to the host. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct host_network;

/* Moves the calling process (the maker of a prewarmed sandbox) into a new network namespace with
 * loopback and, for internet, the link. `n` NULL: blocked. `proc`: from network_options_open; good
 * for several calls. */
MUST_CHECK int network_enter_new(const struct host_network *n, uint32_t slot, int proc,
                                 struct error *err);
MUST_CHECK int network_options_open(int *ret_proc, struct error *err);
/* The two netlink batches of network_enter_new, for tests: for the host's namespace and for the new
 * one. */
void network_host_batch(struct buf *out, const struct host_network *n, uint32_t slot,
                        uint32_t address, int namespace_fd);
void network_inside_batch(struct buf *out, uint32_t slot, uint32_t address);
/* Gives the link's outer end the address NETWORK_GATEWAY. */
MUST_CHECK int network_link_answer(uint32_t slot, struct error *err);
/* Does nothing when the link is missing. */
void network_link_remove(uint32_t slot);
/* Takes the link down, so that no packet passes it. Does nothing when it is missing. */
void network_link_stop(uint32_t slot);
/* Whether the sandbox has ever sent anything; `otherwise` when there is no link. */
bool network_was_used(uint32_t slot, bool otherwise);
/* Bytes that the sandbox has received and sent. */
MUST_CHECK int network_counters(uint32_t slot, uint64_t *ret_in, uint64_t *ret_out,
                                struct error *err);
