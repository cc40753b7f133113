/* SPDX-License-Identifier: Apache-2.0 */
#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/error.h"
#include "unit.h"

static bool is_public(const char *text)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		return address_is_public((const struct sockaddr *)&in);
	assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
	return address_is_public((const struct sockaddr *)&in6);
}

TEST(addresses_of_the_internet_are_public)
{
	static const char *const addresses[] = {"1.1.1.1",
	                                        "8.8.8.8",
	                                        "9.255.255.255",
	                                        "11.0.0.0",
	                                        "100.63.255.255",
	                                        "100.128.0.0",
	                                        "126.255.255.255",
	                                        "128.0.0.1",
	                                        "169.253.0.1",
	                                        "169.255.0.1",
	                                        "172.15.255.255",
	                                        "172.32.0.0",
	                                        "192.167.0.1",
	                                        "192.169.0.1",
	                                        "198.17.255.255",
	                                        "198.20.0.0",
	                                        "223.255.255.255",
	                                        "192.0.1.1",
	                                        "2606:4700:4700::1111",
	                                        "2a00:1450::1",
	                                        "2001:4860::8888",
	                                        "2001:200::1",
	                                        "3ffe::1"};

	for (size_t i = 0; i < COUNT_OF(addresses); i++)
		if (!is_public(addresses[i]))
			fail_msg("%s", addresses[i]);
}

TEST(addresses_of_private_networks_and_what_stands_for_them_are_not)
{
	static const char *const addresses[] = {"0.0.0.0",
	                                        "0.1.2.3",
	                                        "10.0.0.1",
	                                        "10.255.255.255",
	                                        "100.64.0.1",
	                                        "100.127.255.255",
	                                        "127.0.0.1",
	                                        "127.255.255.255",
	                                        "169.254.0.1",
	                                        "169.254.169.254",
	                                        "172.16.0.1",
	                                        "172.31.255.255",
	                                        "192.0.0.1",
	                                        "192.0.2.1",
	                                        "192.88.99.1",
	                                        "192.168.0.1",
	                                        "198.18.0.1",
	                                        "198.19.255.255",
	                                        "198.51.100.7",
	                                        "203.0.113.9",
	                                        "224.0.0.1",
	                                        "239.255.255.255",
	                                        "240.0.0.1",
	                                        "255.255.255.255",
	                                        "::",
	                                        "::1",
	                                        "::127.0.0.1",
	                                        "::ffff:127.0.0.1",
	                                        "::ffff:8.8.8.8",
	                                        "64:ff9b::7f00:1",
	                                        "64:ff9b:1::1",
	                                        "100::1",
	                                        "2001::1",
	                                        "2001:1ff::1",
	                                        "2001:db8::1",
	                                        "2002:7f00:1::1",
	                                        "3fff::1",
	                                        "4000::1",
	                                        "fc00::1",
	                                        "fdff::1",
	                                        "fe80::1",
	                                        "febf::1",
	                                        "fec0::1",
	                                        "ff02::1",
	                                        "5f00::1"};
	const struct sockaddr unix_socket = {.sa_family = AF_UNIX};

	for (size_t i = 0; i < COUNT_OF(addresses); i++)
		if (is_public(addresses[i]))
			fail_msg("%s", addresses[i]);
	assert_false(address_is_public(&unix_socket));
}

int main(void)
{
	return RUN(CASE(addresses_of_the_internet_are_public),
	           CASE(addresses_of_private_networks_and_what_stands_for_them_are_not));
}
