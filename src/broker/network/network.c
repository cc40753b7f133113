/* SPDX-License-Identifier: Apache-2.0 */
/* One sandbox's network. The host's rules are in firewall.c. */
#include "broker/network/network.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "wire/launch.h"

#define FIRST_ADDRESS 2 /* .0 is the net, .1 looks like a router */

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
		char one[32] = "";

		(void)span_split(&rest, ',', &item);
		item = span_trim(item);
		if (item.size == 0)
			continue;
		if (item.size >= sizeof(one))
			return FAIL(err, ERROR_INVALID, "'%.*s' is not an IPv4 address range",
			            (int)item.size, item.data);
		memcpy(one, item.data, item.size);
		if (n->allow_count == NETWORK_ALLOW_MAX)
			return FAIL(err, ERROR_LIMIT, "more than %d allowed ranges",
			            NETWORK_ALLOW_MAX);
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

void network_link_name(uint32_t slot, char out[NETWORK_LINK_SIZE])
{
	(void)snprintf(out, NETWORK_LINK_SIZE, LAUNCH_LINK, slot);
}
