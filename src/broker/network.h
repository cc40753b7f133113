/* SPDX-License-Identifier: Apache-2.0 */
/* broker/network.h — the network of sandboxes: addresses, namespaces, the host's rules. Private to
 * this folder.
 *
 * A sandbox with internet has one veth pair: `eth0` inside with an address of its own (/32) and a
 * route by way of 169.254.1.1, `atollSLOT` outside with a route to that address. Neighbours are
 * fixed on both ends, so that there is nothing to ask and nothing to spoof; no bridge. The
 * namespace belongs to the host's user namespace: root inside has no power over it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "isolation/isolation.h"
#include "sandbox/egress.h"

#define NETWORK_NAMESERVERS_MAX 3
#define NETWORK_LINK_SIZE 16
/* A sandbox's next hop, and where its link's outer end answers for the gateway for names. */
#define NETWORK_GATEWAY "169.254.1.1"

struct network_range {
	uint32_t address; /* host byte order */
	unsigned prefix;
};
/* Where the gateway for names listens at NETWORK_GATEWAY; all 0 when there is none. */
struct network_gateway {
	uint16_t http, tls, dns;
};
struct host_network {
	struct network_range subnet;
	struct network_range allow[NETWORK_ALLOW_MAX];
	unsigned allow_count;
	uint32_t nameservers[NETWORK_NAMESERVERS_MAX];
	unsigned nameserver_count;
	char resolv_conf[256];
	unsigned char ruled[SLOTS_MAX / 8 + 1]; /* slots with rules of their own; see egress.c */
	struct network_gateway gateway;
	int names_fd;    /* DATA/run/names: ADDRESS has the rules of a sandbox with names in them */
	bool has_ipv6;   /* the host's kernel */
	bool has_uplink; /* a default route: else links are made and lead nowhere */
	bool usable;     /* false: only blocked sandboxes; `problem` says why */
	struct error problem;
};

/* "10.213.0.0/16"; a bare address is a /32. Refuses bits behind the prefix. */
MUST_CHECK int network_range_parse(const char *text, struct network_range *ret, struct error *err);
/* A comma list, possibly empty, into n->allow. */
MUST_CHECK int network_allow_parse(struct host_network *n, const char *text, struct error *err);
/* From the text of a resolv.conf: what a sandbox can reach (IPv4, not loopback). */
void network_nameservers_parse(struct host_network *n, struct span text);
/* The address of a slot's sandbox, or ERROR_LIMIT when the subnet is too small. */
MUST_CHECK int network_address(const struct host_network *n, uint32_t slot, uint32_t *ret,
                               struct error *err);
/* Whose slot's it would be; false when no slot's. */
bool network_slot_of(const struct host_network *n, uint32_t address, uint32_t *ret);
void network_link_name(uint32_t slot, char out[NETWORK_LINK_SIZE]);

/* Nameservers, forwarding and the nft table; sets n->usable. Only bad options are an error. */
void network_prepare_host(struct host_network *n);
/* Whether the host has a default route now and had none when it was prepared. */
bool network_gained_uplink(const struct host_network *n);
/* The nft text for the sandboxes first_slot … first_slot+count-1; rules are the same for every
 * instance of Atoll on the host, the allowed ranges are the chunk's own. */
void network_rules(struct buf *out, const struct host_network *n, uint32_t first_slot,
                   uint32_t count);
/* Loads them; on failure the network becomes unusable. */
void network_claim(struct host_network *n, uint32_t first_slot, uint32_t count);

/* Removes the table, which is every instance's. */
void network_forget(void);

/* In the maker of a prewarmed sandbox: moves the calling process into a new network namespace with
 * loopback and, for internet, the link. `n` NULL = blocked. `proc`: of the next one, good for
 * several. */
MUST_CHECK int network_enter_new(const struct host_network *n, uint32_t slot, int proc,
                                 struct error *err);
MUST_CHECK int network_options_open(int *ret_proc, struct error *err);
/* The two batches of that, for tests: what the host's namespace and what the new one is told. */
void network_host_batch(struct buf *out, const struct host_network *n, uint32_t slot,
                        uint32_t address, int namespace_fd);
void network_inside_batch(struct buf *out, uint32_t slot, uint32_t address);
/* The link's outer end answers at NETWORK_GATEWAY from now on. */
MUST_CHECK int network_link_answer(uint32_t slot, struct error *err);
/* Fine when missing. */
void network_link_remove(uint32_t slot);
/* Nothing passes it any more; fine when missing. */
void network_link_stop(uint32_t slot);
/* Whether anything ever came out of the sandbox; without a link `otherwise`. */
bool network_was_used(uint32_t slot, bool otherwise);
/* Bytes that went into and came out of the sandbox. */
MUST_CHECK int network_counters(uint32_t slot, uint64_t *ret_in, uint64_t *ret_out,
                                struct error *err);

/* ---- in firewall.c ---- */

/* Runs the program nft, all of the script or nothing; what it prints goes to `ret_text` unless that
 * is NULL. */
MUST_CHECK int network_nft(struct span script, struct buf *ret_text, struct error *err);
void network_add_address(struct buf *out, uint32_t address);
void network_input_rules(struct buf *out);
void network_add_range(struct buf *out, const struct egress_range *range);

/* ---- in egress.c: the rules of one sandbox, as of sandbox/egress.h ---- */

/* What of the table is a slot's own: a chain of its number, and the entry that leads there from its
 * link. */
struct network_own {
	const char *map, *chain;
};
void network_own_add(struct buf *out, const struct network_own *own, uint32_t slot);
void network_own_remove(struct buf *out, const struct network_own *own, uint32_t slot);

/* All of them at once, in place of those before; takes milliseconds unless there are and were none.
 */
MUST_CHECK int network_egress_set(struct host_network *n, uint32_t slot, const char *egress,
                                  struct error *err);
/* Ends what is under way and those rules refuse, once they are set, so that none of it comes back.
 * Takes a second when the sandbox has filled the kernel's table. */
void network_egress_cut(const struct host_network *n, uint32_t slot, const char *egress);
/* Those of several are removed; fine when they have none. */
MUST_CHECK int network_egress_clear(struct host_network *n, const uint32_t *slots, size_t count,
                                    struct error *err);
/* What we know of it, for who learns of it otherwise. */
bool network_egress_is_set(const struct host_network *n, uint32_t slot);
void network_egress_note(struct host_network *n, uint32_t slot, bool is_set);
/* Calls back with each slot that has rules in the kernel, whosever it is. */
MUST_CHECK int network_egress_each(void (*on_slot)(void *context, uint32_t slot), void *context,
                                   struct error *err);
/* The nft texts of that, and the slots in what nft lists. */
MUST_CHECK int network_egress_rules(struct buf *out, const struct host_network *n, uint32_t slot,
                                    const char *egress, struct error *err);
void network_egress_removal(struct buf *out, uint32_t slot);
void network_egress_find(struct span listing, void (*on_slot)(void *context, uint32_t slot),
                         void *context);

/* ---- in flows.c: what the kernel remembers of packets, so that the next ones go the same way ----
 */

struct flow {
	uint32_t from, to;   /* of its first packet; host byte order */
	uint32_t answers_of; /* who answers: another one when it was led elsewhere */
	uint8_t protocol;
};
/* Whether what it sends is led elsewhere, for as long as it sends, whatever rules say by then. Not
 * of TCP, which hears of them at its next packet. */
bool network_flow_is_led(const struct flow *flow);
/* Forgets those that `is_over` says, of one address or, with 0, of all. What comes back to them is
 * the host's from then on, and what is sent again is looked at as a first one. Takes milliseconds:
 * the kernel looks through its whole table. */
typedef bool flow_is_over(const void *context, const struct flow *flow);
MUST_CHECK int network_flows_forget(uint32_t from, flow_is_over *is_over, const void *context,
                                    struct error *err);
/* All of slots whose sandboxes are dead: their addresses are the next ones'. */
MUST_CHECK int network_flows_end(const struct host_network *n, const uint32_t *slots, size_t count,
                                 struct error *err);

/* ---- in egress_names.c: names of hosts in such rules ---- */

/* What a slot's connections are led to the gateway by: those to addresses that it must not reach.
 */
MUST_CHECK int network_names_rules(struct buf *out, const struct host_network *n, uint32_t slot,
                                   struct span denied, struct error *err);
void network_names_removal(struct buf *out, uint32_t slot);
/* The gateway knows the slot's rules, before nftables leads anything there. */
MUST_CHECK int network_names_tell(const struct host_network *n, uint32_t slot, const char *egress,
                                  struct error *err);
bool network_names_are_told(const struct host_network *n, uint32_t slot);
void network_names_forget(const struct host_network *n,
                          uint32_t slot); /* fine when there are none */
/* Whose rules a file of that folder has; false when it is nobody's. */
bool network_names_slot(const struct host_network *n, const char *file, uint32_t *ret);
