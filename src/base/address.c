/* SPDX-License-Identifier: Apache-2.0 */
#include "base/address.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

struct address_range {
	unsigned char start[16];
	unsigned bits;
};

/* Address ranges that are not public: RFC 6890 and its successors. */
static const struct address_range refused_v4[] = {
        {{0}, 8},
        {{10}, 8},
        {{100, 64}, 10},
        {{127}, 8},
        {{169, 254}, 16},
        {{172, 16}, 12},
        {{192, 0, 0}, 24},
        {{192, 0, 2}, 24},
        {{192, 88, 99}, 24},
        {{192, 168}, 16},
        {{198, 18}, 15},
        {{198, 51, 100}, 24},
        {{203, 0, 113}, 24},
        {{224}, 4},
        {{240}, 4},
};
/* Only 2000::/3 is public; these ranges in it translate to IPv4 or are examples. */
static const struct address_range refused_v6[] = {
        {{0x20, 0x01, 0x00}, 23},
        {{0x20, 0x01, 0x0d, 0xb8}, 32},
        {{0x20, 0x02}, 16},
        {{0x3f, 0xff}, 20},
};
static const struct address_range global_v6 = {{0x20}, 3};

static bool network_contains(const struct address_range *n, const unsigned char *address)
{
	unsigned whole = n->bits / 8, rest = n->bits % 8;
	unsigned char mask = (unsigned char)(0xff << (8 - rest));

	return memcmp(n->start, address, whole) == 0 &&
	       (rest == 0 || (n->start[whole] & mask) == (address[whole] & mask));
}

static bool any_network_contains(const struct address_range *list, size_t count,
                                 const unsigned char *address)
{
	for (size_t i = 0; i < count; i++)
		if (network_contains(&list[i], address))
			return true;
	return false;
}

bool address_is_public(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, address, sizeof(in));
		return !any_network_contains(refused_v4, COUNT_OF(refused_v4),
		                             (const unsigned char *)&in.sin_addr);
	}
	if (address->sa_family == AF_INET6) {
		struct sockaddr_in6 in;

		memcpy(&in, address, sizeof(in));
		return network_contains(&global_v6, in.sin6_addr.s6_addr) &&
		       !any_network_contains(refused_v6, COUNT_OF(refused_v6),
		                             in.sin6_addr.s6_addr);
	}
	return false;
}
