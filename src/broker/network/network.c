/* SPDX-License-Identifier: Apache-2.0 */
/* One sandbox's network. The host's rules are in firewall.c. */
#include "broker/network/network.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "wire/launch.h"

#define FIRST_ADDRESS 2 /* .0 is the net, .1 looks like a router */
#define SUBNET6_BYTES 12
#define SUBNET6_PREFIX_MIN 48
#define SUBNET6_PREFIX_MAX 96

static uint32_t prefix_mask(unsigned prefix)
{
	return prefix ? UINT32_MAX << (32 - prefix) : 0;
}

int network_range_parse(const char *text, struct network_range *ret, struct error *err)
{
	struct span rest = span_of(text), head;
	bool has_prefix = span_split(&rest, '/', &head);
	char address[INET_ADDRSTRLEN] = "";
	struct in_addr in;
	int64_t prefix = 32;

	if (head.size < sizeof(address))
		memcpy(address, head.data, head.size);
	if (inet_pton(AF_INET, address, &in) != 1)
		return FAIL(err, ERROR_INVALID, "'%s' is not an IPv4 address range", text);
	if (has_prefix && span_parse_whole(rest, 0, 32, &prefix, err) < 0)
		return FAIL_CONTEXT(err, "'%s'", text);
	if (ntohl(in.s_addr) & ~prefix_mask((unsigned)prefix))
		return FAIL(err, ERROR_INVALID, "'%s' has bits behind its prefix", text);
	*ret = (struct network_range){ntohl(in.s_addr), (unsigned)prefix};
	return 0;
}

int network_allow_parse(struct host_network *n, const char *text, struct error *err)
{
	struct span rest = span_of(text), item;

	while (rest.size > 0) {
		char one[ADDRESS6_TEXT_SIZE + 4] = "";
		struct egress_range6 *six = &n->allow6[n->allow6_count];

		(void)span_split(&rest, ',', &item);
		item = span_trim(item);
		if (item.size == 0)
			continue;
		if (item.size >= sizeof(one))
			return FAIL(err, ERROR_INVALID, "'%.*s' is not an address range",
			            (int)item.size, item.data);
		memcpy(one, item.data, item.size);
		if (n->allow_count + n->allow6_count == NETWORK_ALLOW_MAX)
			return FAIL(err, ERROR_LIMIT, "more than %d allowed ranges",
			            NETWORK_ALLOW_MAX);
		if (egress_range6_parse(span_of(one), six)) {
			if (!egress_range6_may_open(six))
				return FAIL(err, ERROR_INVALID,
				            "'%s' is not in fc00::/7, nor in 2000::/3 without "
				            "6to4 and Teredo",
				            one);
			n->allow6_count++;
			continue;
		}
		if (network_range_parse(one, &n->allow[n->allow_count], err) < 0)
			return -1;
		n->allow_count++;
	}
	return 0;
}

int network_address(const struct host_network *n, uint32_t slot, uint32_t *ret, struct error *err)
{
	uint32_t offset = slot + FIRST_ADDRESS;

	/* The last address of the subnet stays free. */
	if (offset >= ~prefix_mask(n->subnet.prefix))
		return FAIL(err, ERROR_LIMIT, "network subnet /%u has no address for slot %u",
		            n->subnet.prefix, slot);
	*ret = n->subnet.address + offset;
	return 0;
}

bool network_slot_of(const struct host_network *n, uint32_t address, uint32_t *ret)
{
	uint32_t offset = address - n->subnet.address;

	if (offset < FIRST_ADDRESS || offset - FIRST_ADDRESS >= SLOTS_MAX)
		return false;
	*ret = offset - FIRST_ADDRESS;
	return true;
}

/* The last four bytes of an address of subnet6 are the slot's. */
void network_address6(const struct host_network *n, uint32_t slot, struct address6 *ret)
{
	uint32_t offset = htonl(slot + FIRST_ADDRESS);

	*ret = n->subnet6.first;
	memcpy(&ret->bytes[SUBNET6_BYTES], &offset, sizeof(offset));
}

bool network_slot_of6(const struct host_network *n, const struct address6 *address, uint32_t *ret)
{
	uint32_t offset;

	memcpy(&offset, &address->bytes[SUBNET6_BYTES], sizeof(offset));
	offset = ntohl(offset);
	if (memcmp(address, &n->subnet6.first, SUBNET6_BYTES) != 0 || offset < FIRST_ADDRESS ||
	    offset - FIRST_ADDRESS >= SLOTS_MAX)
		return false;
	*ret = offset - FIRST_ADDRESS;
	return true;
}

int network_subnet6_parse(const char *text, struct egress_range6 *ret, struct error *err)
{
	struct span rest = span_of(text), address;
	struct egress_range6 range, all;
	struct address6 written;
	struct error ignored = {0};
	int64_t prefix;

	(void)span_split(&rest, '/', &address);
	if (!egress_range6_parse(span_of(text), &range) ||
	    !egress_address6_parse(address, &written) ||
	    !egress_range6_parse(SPAN("fc00::/7"), &all) ||
	    span_parse_whole(rest, SUBNET6_PREFIX_MIN, SUBNET6_PREFIX_MAX, &prefix, &ignored) < 0 ||
	    !address6_is_same(&written, &range.first) || !egress_range6_has(&all, &range.first))
		return FAIL(err, ERROR_INVALID,
		            "'%s' is not a network in fc00::/7 from /%d to /%d, without bits "
		            "behind its prefix",
		            text, SUBNET6_PREFIX_MIN, SUBNET6_PREFIX_MAX);
	*ret = range;
	return 0;
}

void network_link_name(uint32_t slot, char out[NETWORK_LINK_SIZE])
{
	(void)snprintf(out, NETWORK_LINK_SIZE, LAUNCH_LINK, slot);
}
