/* SPDX-License-Identifier: Apache-2.0 */
/* broker/network/egress.h — the egress rules of one sandbox (sandbox/egress.h) in the kernel. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct host_network;

/* What a slot has of its own in the nft table: a chain with its number, and the entry of a map that
 * leads from its link to the chain. */
struct network_own {
	const char *map, *chain;
};
void network_own_add(struct buf *out, const struct network_own *own, uint32_t slot);
void network_own_remove(struct buf *out, const struct network_own *own, uint32_t slot);

/* The rules of the sandbox in a slot. Its id is in the log of the kernel and of the gateway. */
struct network_ruled {
	uint32_t slot;
	const char *sandbox, *egress;
};
/* Replaces the rules of the slot at once. Takes milliseconds, unless there are none before and
 * after. */
MUST_CHECK int network_egress_set(struct host_network *n, const struct network_ruled *ruled,
                                  struct error *err);
/* Ends the connections that those rules refuse. Call it after network_egress_set, so that none of
 * them is opened again. Takes a second when the sandbox has filled the kernel's table. `left_by`:
 * under rules without a source address, connections that leave by this one end, too; 0: none. False
 * when the kernel refuses; that is logged. */
#define NETWORK_LEFT_BY_ANY UINT32_MAX
bool network_egress_cut(const struct host_network *n, uint32_t slot, const char *egress,
                        uint32_t left_by);
/* Removes the rules of several slots; a slot may have none. */
MUST_CHECK int network_egress_clear(struct host_network *n, const uint32_t *slots, size_t count,
                                    struct error *err);
/* Whether the broker knows of rules for this slot. */
bool network_egress_is_set(const struct host_network *n, uint32_t slot);
/* Notes what the broker has learned otherwise. */
void network_egress_note(struct host_network *n, uint32_t slot, bool is_set);
/* Calls back with each slot that has rules in the kernel, those of other servers included. */
MUST_CHECK int network_egress_each(void (*on_slot)(void *context, uint32_t slot), void *context,
                                   struct error *err);

/* The nft texts of these calls, and the slots in a listing of nft. */
MUST_CHECK int network_egress_rules(struct buf *out, const struct host_network *n,
                                    const struct network_ruled *ruled, struct error *err);
void network_egress_removal(struct buf *out, const struct host_network *n, uint32_t slot);
void network_egress_find(struct span listing, void (*on_slot)(void *context, uint32_t slot),
                         void *context);
