/* SPDX-License-Identifier: Apache-2.0 */
#include "decision/packet.h"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "netlink/netlink.h"
#include "sandbox/decision.h"

#define IP_HEAD_MIN 20
#define WORD 4
#define IP6_HEAD 40
#define IP6_NEXT 6
#define IP6_TO 24
#define IP6_STEP 8

static uint32_t read_number(const unsigned char *bytes, unsigned count)
{
	uint32_t number = 0;

	for (unsigned i = 0; i < count; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* The port of a header that begins at `at`, where the protocol has ports. */
static void read_port(struct span packet, size_t at, unsigned protocol, struct network_decision *d)
{
	d->protocol = protocol == IPPROTO_TCP   ? DECISION_TCP
	              : protocol == IPPROTO_UDP ? DECISION_UDP
	                                        : DECISION_OTHER;
	if (d->protocol != DECISION_OTHER && packet.size >= at + WORD)
		d->port = (uint16_t)read_number((const unsigned char *)packet.data + at + 2, 2);
}

/* An IPv6 packet (RFC 8200). The kernel cuts it: what follows many extension headers is not known.
 * A fragment behind the first one has no port. */
static bool read_packet6(struct span packet, struct network_decision *d)
{
	const unsigned char *bytes = (const void *)packet.data;
	size_t at = IP6_HEAD;
	unsigned next;

	if (packet.size < IP6_HEAD)
		return false;
	next = bytes[IP6_NEXT];
	memcpy(d->address6.bytes, bytes + IP6_TO, sizeof(d->address6.bytes));
	while (packet.size >= at + WORD && (next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING ||
	                                    next == IPPROTO_DSTOPTS || next == IPPROTO_FRAGMENT)) {
		bool is_fragment = next == IPPROTO_FRAGMENT;

		if (is_fragment && read_number(bytes + at + 2, 2) >> 3 != 0)
			break;
		next = bytes[at];
		at += is_fragment ? IP6_STEP : ((size_t)bytes[at + 1] + 1) * IP6_STEP;
	}
	read_port(packet, at, next, d);
	return true;
}

/* An IPv4 packet (RFC 791): destination, and its port where the protocol has one. */
static bool read_packet(struct span packet, struct network_decision *d)
{
	const unsigned char *bytes = (const void *)packet.data;
	size_t head;

	if (packet.size > 0 && bytes[0] >> 4 == 6)
		return read_packet6(packet, d);
	if (packet.size < IP_HEAD_MIN || bytes[0] >> 4 != 4)
		return false;
	head = (size_t)(bytes[0] & 15) * WORD;
	d->address = read_number(bytes + 16, 4);
	read_port(packet, head >= IP_HEAD_MIN ? head : packet.size, bytes[9], d);
	return true;
}

/* "^ID REASON": a quota cuts the network (sandbox/egress.h). */
static bool read_cut(struct span prefix, struct network_decision *d)
{
	d->verdict = DECISION_DENIED;
	(void)snprintf(d->sandbox, sizeof(d->sandbox), "%.*s", ID_SIZE, prefix.data + 1);
	span_skip(&prefix, ID_SIZE + 2);
	decision_set_cut(d, prefix);
	return id_is_valid(d->sandbox) && egress_cut_is_valid(prefix);
}

static bool read_prefix(struct span prefix, struct network_decision *d)
{
	if (prefix.size > 0 && prefix.data[prefix.size - 1] == '\0')
		prefix.size--;
	if (prefix.size > ID_SIZE + 2 && prefix.data[0] == '^')
		return read_cut(prefix, d);
	if (prefix.size != ID_SIZE + 1)
		return false;
	d->verdict = prefix.data[0] == '+'   ? DECISION_ALLOWED
	             : prefix.data[0] == '?' ? DECISION_WATCHED
	                                     : DECISION_DENIED;
	d->code = d->verdict == DECISION_ALLOWED ? DECISION_OK
	          : prefix.data[0] == '!'        ? DECISION_DIRECT_REFUSED
	                                         : DECISION_ADDRESS_DENIED;
	(void)snprintf(d->sandbox, sizeof(d->sandbox), "%.*s", ID_SIZE, prefix.data + 1);
	return id_is_valid(d->sandbox);
}

bool packet_decision(struct span message, struct network_decision *ret)
{
	const size_t fixed = NLMSG_LENGTH(sizeof(struct nfgenmsg));
	struct network_decision d = {.count = 1};
	struct nlmsghdr head;
	struct span attributes;

	if (message.size < fixed)
		return false;
	memcpy(&head, message.data, sizeof(head));
	if (head.nlmsg_type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET) ||
	    head.nlmsg_len < fixed || head.nlmsg_len > message.size)
		return false;
	attributes = (struct span){message.data + fixed, head.nlmsg_len - fixed};
	if (!read_prefix(netlink_find(attributes, NFULA_PREFIX), &d) ||
	    !read_packet(netlink_find(attributes, NFULA_PAYLOAD), &d))
		return false;
	*ret = d;
	return true;
}
