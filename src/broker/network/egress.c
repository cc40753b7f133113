/* SPDX-License-Identifier: Apache-2.0 */
/* The egress rules of single sandboxes; firewall.c has the rules for all. A sandbox with rules has
 * an nft chain that looks up a set of the addresses that it must not reach, and a map leads from
 * its link to the chain. Another chain of the slot logs what is refused. The two base chains are
 * made with the first rules, so that a host without rules has none of this. They run before
 * established connections are accepted, so a connection that a new rule forbids is cut. The link
 * identifies the sender, not the address; no sandbox can fake that. Elements are listed where a set
 * is declared: to add an element alone makes nft 1.0 read all elements of all sets first, which
 * takes longest with hundreds of sandboxes. */
#include "broker/network/egress.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/log.h"
#include "broker/host/options.h"
#include "broker/network/firewall.h"
#include "broker/network/flows.h"
#include "broker/network/link.h"
#include "broker/network/names.h"
#include "broker/network/network.h"
#include "broker/network/source.h"

#define SCRIPT_MAX (64 * 1024)
#define REMOVAL_MAX ((size_t)SLOTS_MAX * 2048)
#define DENIED_MAX (32 * 1024)
#define LISTING_MAX ((size_t)SLOTS_MAX * 64)
/* Before the id of a sandbox in the log, as decision/kernel.c reads them. */
#define LOG_DENIED '-'
#define LOG_ALLOWED '+'
#define LOG_WATCHED '?'
#define LOG_DIRECT '!'
#define LOG_CUT '^' /* before the id, then a space and the reason */
#define MAP "add map inet atoll %s { type ifname : verdict; "

static const struct network_own rules = {"egress", "egress"};

/* All of it may exist already: each line declares a state and does nothing when that is so. */
static const char frame[] =
        "add chain inet atoll egress_denied\n"
        "flush chain inet atoll egress_denied\n"
        "add rule inet atoll egress_denied ct state established meta l4proto tcp reject with tcp "
        "reset\n"
        "add rule inet atoll egress_denied reject with icmp type admin-prohibited\n"
        "add chain inet atoll egress_forward { type filter hook forward priority -2; }\n"
        "add chain inet atoll egress_input { type filter hook input priority -2; }\n"
        "flush chain inet atoll egress_forward\n"
        "flush chain inet atoll egress_input\n"
        "add rule inet atoll egress_forward meta nfproto ipv4 iifname vmap @egress\n"
        "add rule inet atoll egress_input meta nfproto ipv4 iifname vmap @egress\n";

/* Chains of their own: an older Atoll on this host may load its frame, which is for IPv4. Every
 * refused connection ends at once, so that clients try IPv4. */
static const char frame6[] =
        "add chain inet atoll egress_denied6\n"
        "flush chain inet atoll egress_denied6\n"
        "add rule inet atoll egress_denied6 meta l4proto tcp reject with tcp reset\n"
        "add rule inet atoll egress_denied6 reject with icmpx type admin-prohibited\n"
        "add chain inet atoll egress_forward6 { type filter hook forward priority -2; }\n"
        "add chain inet atoll egress_input6 { type filter hook input priority -2; }\n"
        "flush chain inet atoll egress_forward6\n"
        "flush chain inet atoll egress_input6\n"
        /* What a link says to all its neighbours is no connection. */
        "add rule inet atoll egress_forward6 iifname \"atoll*\" ip6 daddr ff00::/8 drop\n"
        "add rule inet atoll egress_input6 iifname \"atoll*\" ip6 daddr ff00::/8 drop\n"
        "add rule inet atoll egress_forward6 meta nfproto ipv6 iifname vmap @egress\n"
        "add rule inet atoll egress_input6 meta nfproto ipv6 iifname vmap @egress\n";

void network_own_add(struct buf *out, const struct network_own *own, uint32_t slot)
{
	char link[NETWORK_LINK_SIZE];

	network_link_name(slot, link);
	buf_addf(out, "add table inet atoll\nadd chain inet atoll %s%u\n", own->chain, slot);
	buf_addf(out, MAP "elements = { \"%s\" : jump %s%u }; }\n", own->map, link, own->chain,
	         slot);
}

/* Declares everything first, because removing what is missing would be an error. */
void network_own_remove(struct buf *out, const struct network_own *own, uint32_t slot)
{
	char link[NETWORK_LINK_SIZE];

	network_link_name(slot, link);
	network_own_add(out, own, slot);
	buf_addf(out, "delete element inet atoll %s { \"%s\" }\n", own->map, link);
	buf_addf(out, "delete chain inet atoll %s%u\n", own->chain, slot);
}

/* "{ 1.1.1.1-1.1.1.4, … }" */
static void add_denied(struct buf *out, const struct egress_ranges *denied)
{
	buf_add_text(out, "{ ");
	for (size_t i = 0; i < denied->count; i++) {
		if (i > 0)
			buf_add_text(out, ", ");
		network_add_range(out, &denied->items[i]);
	}
	buf_add_text(out, " }");
}

static void add_denied6(struct buf *out, const struct egress_ranges6 *denied)
{
	buf_add_text(out, "{ ");
	for (size_t i = 0; i < denied->count; i++) {
		if (i > 0)
			buf_add_text(out, ", ");
		network_add_range6(out, &denied->items[i]);
	}
	buf_add_text(out, " }");
}

struct own_rules {
	const struct network_ruled *ruled;
	struct egress_ranges denied; /* by the rules */
	struct egress_ranges6 denied6;
};

static int read_own_rules(const struct network_ruled *ruled, struct own_rules *ret,
                          struct error *err)
{
	ret->ruled = ruled;
	return sandbox_egress_denied(ruled->egress, &ret->denied, err) < 0
	               ? -1
	               : sandbox_egress_denied6(ruled->egress, &ret->denied6, err);
}

/* Tells the log of the kernel of a packet: `sign` and the sandbox's id come back as the prefix. The
 * rate is for each rule, and so for each sandbox. */
static void add_log(struct buf *out, const struct host_network *n, const char *match, char sign,
                    const struct network_ruled *ruled)
{
	struct span cut = sandbox_egress_cut(ruled->egress);

	if (n->log_group == 0)
		return;
	buf_addf(out,
	         "add rule inet atoll %s limit rate 20/second burst 60 packets log prefix "
	         "\"%c%s%s%.*s\" group %u snaplen 64 queue-threshold 1\n",
	         match, cut.size > 0 ? LOG_CUT : sign, ruled->sandbox, cut.size > 0 ? " " : "",
	         (int)cut.size, cut.data, n->log_group);
}

static void add_end(struct buf *out, const char *chain)
{
	buf_addf(out,
	         "add rule inet atoll %s meta nfproto ipv6 goto egress_denied6\n"
	         "add rule inet atoll %s goto egress_denied\n",
	         chain, chain);
}

/* Whether something that the sandbox sends is refused. */
static bool refuses_some(const struct host_network *n, const struct own_rules *r)
{
	return r->denied.count > 0 || r->denied6.count > 0 || n->is_proxied;
}

/* Whether the slot has rules in the kernel, and the gateway has its rules. */
static bool needs_rules(const struct host_network *n, const struct own_rules *r)
{
	return refuses_some(n, r) || sandbox_egress_source(r->ruled->egress) != 0;
}

/* Of a sandbox that a quota cuts off, the gateway answers HTTP with the reason. */
static bool needs_gateway(const struct host_network *n, const struct own_rules *r)
{
	return n->is_proxied || sandbox_egress_has_names(r->ruled->egress) ||
	       (n->gateway && n->gateway->http > 0 &&
	        sandbox_egress_cut(r->ruled->egress).size > 0);
}

/* What the sandbox may not reach is logged, then refused; in the mode "watch" it passes. Nothing
 * passes by the upstream proxy. */
static void add_refused(struct buf *out, const struct host_network *n, const struct own_rules *r)
{
	bool is_watched = sandbox_egress_mode(r->ruled->egress) == EGRESS_WATCH && !n->is_proxied;
	char chain[64], match[96];

	(void)snprintf(chain, sizeof(chain), "refused%u", r->ruled->slot);
	buf_addf(out, "add chain inet atoll %s\nflush chain inet atoll %s\n", chain, chain);
	/* The gateway sees no IPv6: a connection by name would pass it by. */
	if (is_watched && needs_gateway(n, r)) {
		(void)snprintf(match, sizeof(match), "%s meta nfproto ipv6", chain);
		add_log(out, n, match, LOG_DENIED, r->ruled);
		buf_addf(out, "add rule inet atoll %s goto egress_denied6\n", match);
	}
	add_log(out, n, chain, is_watched ? LOG_WATCHED : LOG_DENIED, r->ruled);
	if (!is_watched)
		add_end(out, chain);
}

/* Only what leaves the host; what is sent to the host itself has other rules. */
static void add_allowed(struct buf *out, const struct host_network *n, const struct own_rules *r)
{
	char match[96];

	(void)snprintf(match, sizeof(match), "egress%u oifname != \"lo\" ct state new",
	               r->ruled->slot);
	add_log(out, n, match, LOG_ALLOWED, r->ruled);
}

/* What the rules deny, and what they do not deny but only the gateway takes. */
static void add_refusals(struct buf *out, const struct host_network *n, const struct own_rules *r,
                         const struct buf *denied)
{
	AUTO(buf_done) struct buf denied6 = BUF(DENIED_MAX);
	const uint32_t slot = r->ruled->slot;
	char chain[32];

	if (r->denied6.count > 0) {
		add_denied6(&denied6, &r->denied6);
		buf_addf(out, "add rule inet atoll egress%u ip6 daddr %s goto refused%u\n", slot,
		         buf_text(&denied6), slot);
	}
	if (r->denied.count > 0)
		buf_addf(out, "add rule inet atoll egress%u ip daddr %s goto refused%u\n", slot,
		         buf_text(denied), slot);
	if (!n->is_proxied) {
		add_allowed(out, n, r);
		return;
	}
	(void)snprintf(chain, sizeof(chain), "egress%u", slot);
	add_log(out, n, chain, LOG_DIRECT, r->ruled);
	add_end(out, chain);
}

static int add_rules(struct buf *out, const struct host_network *n, const struct own_rules *r,
                     struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(DENIED_MAX);
	const uint32_t slot = r->ruled->slot;

	network_own_add(out, &rules, slot);
	buf_add_text(out, frame);
	buf_add_text(out, frame6);
	buf_addf(out, "flush chain inet atoll egress%u\n", slot);
	if (network_source_rules(out, n, r->ruled, err) < 0)
		return -1;
	if (!refuses_some(n, r))
		return 0;
	if (r->denied.count > 0)
		add_denied(&text, &r->denied);
	add_refused(out, n, r);
	if (needs_gateway(n, r) &&
	    network_names_rules(out, n, slot,
	                        n->is_proxied ? SPAN(SANDBOX_EGRESS_ALL) : buf_span(&text),
	                        err) < 0)
		return -1;
	add_refusals(out, n, r, &text);
	return 0;
}

int network_egress_rules(struct buf *out, const struct host_network *n,
                         const struct network_ruled *ruled, struct error *err)
{
	struct own_rules r;

	if (read_own_rules(ruled, &r, err) < 0)
		return -1;
	return add_rules(out, n, &r, err);
}

void network_egress_removal(struct buf *out, const struct host_network *n, uint32_t slot)
{
	network_own_remove(out, &rules, slot);
	buf_addf(out, "add chain inet atoll refused%u\ndelete chain inet atoll refused%u\n", slot,
	         slot);
	network_source_removal(out, n, slot);
}

bool network_egress_is_set(const struct host_network *n, uint32_t slot)
{
	return slot < SLOTS_MAX && (n->ruled[slot / 8] >> slot % 8 & 1);
}

void network_egress_note(struct host_network *n, uint32_t slot, bool is_set)
{
	unsigned char bit = (unsigned char)(1u << slot % 8);

	if (slot >= SLOTS_MAX)
		return;
	if (is_set)
		n->ruled[slot / 8] |= bit;
	else
		n->ruled[slot / 8] &= (unsigned char)~bit;
}

struct cut_rules {
	struct egress_ranges denied;
	uint32_t source, left_by;
	bool is_watched; /* the rules refuse nothing */
};

/* Flows to the gateway for names leave by its own sockets. */
static bool flow_leaves_wrong(const struct cut_rules *cut, const struct flow *flow)
{
	if (flow->answers_of != flow->to)
		return false;
	if (cut->source != 0)
		return flow->leaves_by != cut->source;
	return cut->left_by == NETWORK_LEFT_BY_ANY ||
	       (cut->left_by != 0 && flow->leaves_by == cut->left_by);
}

/* TCP gets a reset when it sends or answers. Other protocols have no such end: their packets would
 * be accepted, or redirected to the gateway, for as long as they flow. */
static bool flow_is_refused(const void *context, const struct flow *flow)
{
	const struct cut_rules *cut = context;
	bool is_denied = false;

	if (flow_leaves_wrong(cut, flow))
		return true;
	for (size_t i = 0; i < cut->denied.count && !is_denied; i++)
		is_denied = egress_range_has(&cut->denied.items[i], flow->to);
	return !cut->is_watched &&
	       (network_flow_is_led(flow) || (flow->protocol != IPPROTO_TCP && is_denied));
}

static bool flow_is_refused6(const void *context, const struct flow *flow)
{
	return flow->protocol != IPPROTO_TCP && egress_ranges6_have(context, &flow->to6);
}

static int cut_flows6(const struct host_network *n, uint32_t slot, const char *egress,
                      struct error *err)
{
	struct egress_ranges6 denied;
	struct address6 address;

	if (!n->ipv6)
		return 0;
	if (sandbox_egress_denied6(egress, &denied, err) < 0)
		return -1;
	network_address6(n, slot, &address);
	return network_flows_forget6(&address, flow_is_refused6, &denied, err);
}

/* A kernel that refuses this forgets silent flows by itself after some minutes, and packets to
 * denied addresses are refused in any case. */
bool network_egress_cut(const struct host_network *n, uint32_t slot, const char *egress,
                        uint32_t left_by)
{
	struct cut_rules cut = {.source = sandbox_egress_source(egress),
	                        .left_by = left_by,
	                        .is_watched = sandbox_egress_mode(egress) == EGRESS_WATCH};
	bool passes_all = cut.is_watched && cut.source == 0 && cut.left_by == 0;
	bool is_done = true;
	struct error err = {0};
	uint32_t address;

	if (!network_was_used(slot, true) || (passes_all && !sandbox_egress_has_names(egress)))
		return true;
	if (cut_flows6(n, slot, egress, &err) < 0) {
		log_warning("what goes on by IPv6 from before a change of rules is not ended",
		            FAILURE(&err));
		is_done = false;
	}
	error_clear(&err);
	if (passes_all)
		return is_done;
	if (sandbox_egress_denied(egress, &cut.denied, &err) == 0 &&
	    network_address(n, slot, &address, &err) == 0 &&
	    network_flows_forget(address, flow_is_refused, &cut, &err) == 0)
		return is_done;
	log_warning("what goes on from before a change of rules is not ended, going on",
	            FAILURE(&err));
	return false;
}

int network_egress_clear(struct host_network *n, const uint32_t *slots, size_t count,
                         struct error *err)
{
	AUTO(buf_done) struct buf script = BUF(REMOVAL_MAX);

	for (size_t i = 0; i < count; i++) {
		network_egress_removal(&script, n, slots[i]);
		if (network_names_are_told(n, slots[i]))
			network_names_removal(&script, slots[i]);
	}
	if (count > 0 && network_nft(buf_span(&script), NULL, err) < 0)
		return FAIL_CONTEXT(err, "remove the rules of a sandbox's network");
	for (size_t i = 0; i < count; i++) {
		network_names_forget(n, slots[i]);
		network_egress_note(n, slots[i], false);
	}
	return 0;
}

/* The gateway gets the names before anything is redirected to it, and loses them when nothing is
 * any more. */
static int load_rules(struct host_network *n, const struct own_rules *r, struct error *err)
{
	AUTO(buf_done) struct buf script = BUF(SCRIPT_MAX);
	bool has_names = needs_gateway(n, r);
	const uint32_t slot = r->ruled->slot;

	if (add_rules(&script, n, r, err) < 0)
		return -1;
	/* A slot without rules has none of this. */
	if (sandbox_egress_source(r->ruled->egress) == 0 && network_egress_is_set(n, slot))
		network_source_removal(&script, n, slot);
	if (!has_names && network_names_are_told(n, slot))
		network_names_removal(&script, slot);
	/* Noted before the next step: rules that failed halfway may be in the kernel until they are
	 * removed. */
	network_egress_note(n, slot, true);
	if (has_names) {
		if (network_names_tell(n, r->ruled, err) < 0)
			return -1;
		fault_point("broker", "egress-names");
	}
	if (network_nft(buf_span(&script), NULL, err) < 0)
		return -1;
	if (!has_names)
		network_names_forget(n, slot);
	return 0;
}

int network_egress_set(struct host_network *n, const struct network_ruled *ruled, struct error *err)
{
	struct own_rules r;
	const uint32_t slot = ruled->slot;

	if (read_own_rules(ruled, &r, err) < 0)
		return -1;
	if (!needs_rules(n, &r) && !network_egress_is_set(n, slot))
		return 0;
	if (!needs_rules(n, &r) ? network_egress_clear(n, &slot, 1, err) < 0
	                        : load_rules(n, &r, err) < 0)
		return FAIL_CONTEXT(err, "set the rules of a sandbox's network");
	return 0;
}

void network_egress_find(struct span listing, void (*on_slot)(void *context, uint32_t slot),
                         void *context)
{
	static const char before[] = "atoll";
	const size_t skipped = sizeof(before) - 1;
	struct span rest = listing, piece;
	struct error ignored = {0};
	int64_t slot;

	/* … "atoll17" : jump egress17, … */
	while (span_split(&rest, '"', &piece)) {
		struct span word = {piece.data, 0};

		if (!span_split(&rest, '"', &word))
			return;
		if (word.size < skipped || memcmp(word.data, before, skipped) != 0)
			continue;
		span_skip(&word, skipped);
		if (span_parse_whole(word, 0, SLOTS_MAX - 1, &slot, &ignored) == 0)
			on_slot(context, (uint32_t)slot);
	}
}

int network_egress_each(void (*on_slot)(void *context, uint32_t slot), void *context,
                        struct error *err)
{
	AUTO(buf_done) struct buf listing = BUF(LISTING_MAX), script = BUF(SCRIPT_MAX);

	buf_addf(&script, "add table inet atoll\n" MAP "}\nlist map inet atoll %s\n", rules.map,
	         rules.map);
	if (network_nft(buf_span(&script), &listing, err) < 0)
		return FAIL_CONTEXT(err, "list the rules of sandboxes' networks");
	network_egress_find(buf_span(&listing), on_slot, context);
	return 0;
}
