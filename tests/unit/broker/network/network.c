/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bytes.h"
#include "broker/network/firewall.h"
#include "broker/network/forced.h"
#include "broker/network/network.h"
#include "broker/network/uplink4.h"
#include "broker/network/uplink6.h"
#include "unit.h"

static struct host_network some_network(void)
{
	struct host_network n = {.subnet = {0x0ad50000, 16}, .usable = true};

	n.nameservers[0] = 0x01010101;
	n.nameserver_count = 1;
	return n;
}

TEST(a_range_is_an_address_and_a_prefix)
{
	struct network_range r;
	struct error err = {0};

	assert_int_equal(network_range_parse("10.213.0.0/16", &r, &err), 0);
	assert_int_equal(r.address, 0x0ad50000);
	assert_int_equal(r.prefix, 16);
	assert_int_equal(network_range_parse("192.0.2.7", &r, &err), 0);
	assert_int_equal(r.prefix, 32);
	assert_int_equal(network_range_parse("0.0.0.0/0", &r, &err), 0);
}

TEST(what_is_not_a_range_is_refused)
{
	static const char *const bad[] = {"",
	                                  "10.0.0.0/",
	                                  "10.0.0.0/33",
	                                  "10.0.0/8",
	                                  "10.0.0.1/8",
	                                  "fd00::/8",
	                                  "10.0.0.0/-1",
	                                  "x",
	                                  "10.0.0.0/8 ",
	                                  "300.1.1.1",
	                                  "10.0.0.0/8/8"};
	struct network_range r;
	struct error err = {0};

	for (unsigned i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(network_range_parse(bad[i], &r, &err), -1);
}

TEST(a_list_of_allowed_ranges_may_be_empty_but_not_endless)
{
	struct host_network n = {.allow_count = 0};
	AUTO(buf_done) struct buf many = BUF(4096);
	struct error err = {0};

	assert_int_equal(network_allow_parse(&n, "", &err), 0);
	assert_int_equal(n.allow_count, 0);
	assert_int_equal(network_allow_parse(&n, "10.0.0.0/8, 192.168.1.0/24", &err), 0);
	assert_int_equal(n.allow_count, 2);
	assert_int_equal(network_allow_parse(&n, "10.0.0.0/8,nonsense", &err), -1);
	for (unsigned i = 0; i < NETWORK_ALLOW_MAX + 1; i++)
		buf_add_text(&many, "10.0.0.0/8,");
	assert_int_equal(network_allow_parse(&n, buf_text(&many), &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

TEST(allowed_ranges_of_ipv6_are_private_or_global)
{
	static const char *const bad[] = {"::/0", "fe80::/10", "64:ff9b::/96", "2002::/16",
	                                  "::ffff:10.0.0.0/104"};
	struct host_network n = {.allow_count = 0};
	struct error err = {0};

	assert_int_equal(network_allow_parse(&n, "10.0.0.0/8, fd12:3456::/32,2600::/32", &err), 0);
	assert_int_equal(n.allow_count, 1);
	assert_int_equal(n.allow6_count, 2);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(network_allow_parse(&n, bad[i], &err), -1);
}

TEST(each_slot_has_an_address_of_ipv6)
{
	static const char *const bad[] = {"",           "fd00::",    "fd00::/47",  "fd00::/97",
	                                  "fd00::1/64", "2600::/64", "10.0.0.0/8", "fd00::/64x"};
	struct host_network n = some_network();
	char text[ADDRESS6_TEXT_SIZE];
	struct address6 address;
	struct error err = {0};
	uint32_t slot = 7;

	assert_int_equal(network_subnet6_parse("fd61:746f:6c6c::/64", &n.subnet6, &err), 0);
	network_address6(&n, 0, &address);
	address6_format(&address, text);
	assert_string_equal(text, "fd61:746f:6c6c::2");
	network_address6(&n, 70000 % SLOTS_MAX, &address);
	assert_true(network_slot_of6(&n, &address, &slot));
	assert_int_equal(slot, 70000 % SLOTS_MAX);
	address.bytes[5]++;
	assert_false(network_slot_of6(&n, &address, &slot));
	assert_false(network_slot_of6(&n, &n.subnet6.first, &slot));
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(network_subnet6_parse(bad[i], &n.subnet6, &err), -1);
}

TEST(each_slot_has_an_address_of_its_own_until_the_subnet_ends)
{
	struct host_network n = some_network();
	struct error err = {0};
	uint32_t first, second;

	assert_int_equal(network_address(&n, 0, &first, &err), 0);
	assert_int_equal(network_address(&n, 1, &second, &err), 0);
	assert_int_equal(first, 0x0ad50002);
	assert_int_equal(second, first + 1);
	n.subnet.prefix = 29;
	assert_int_equal(network_address(&n, 4, &first, &err), 0);
	assert_int_equal(network_address(&n, 5, &first, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

TEST(nameservers_on_loopback_and_of_ipv6_are_no_use_inside)
{
	struct host_network n = {.usable = true};

	network_nameservers_parse(&n, SPAN("# comment\nnameserver 127.0.0.53\n"
	                                   "nameserver fd00::1\nsearch x\nnameserver 10.1.2.3\n"
	                                   "nameserver  \nnameserver 8.8.8.8/8\n"
	                                   "nameserver 9.9.9.9"));
	assert_int_equal(n.nameserver_count, 2);
	assert_int_equal(n.nameservers[0], 0x0a010203);
	assert_int_equal(n.nameservers[1], 0x09090909);
}

TEST(no_more_nameservers_are_taken_than_libc_would)
{
	struct host_network n = {.usable = true};

	network_nameservers_parse(&n, SPAN("nameserver 1.1.1.1\nnameserver 1.1.1.2\n"
	                                   "nameserver 1.1.1.3\nnameserver 1.1.1.4\n"));
	assert_int_equal(n.nameserver_count, NETWORK_NAMESERVERS_MAX);
}

static const char *rules_of(struct buf *out, const struct host_network *n)
{
	network_rules(out, n, 1024, 1024);
	return buf_text(out);
}

TEST(private_and_metadata_addresses_are_refused_and_labs_are_not)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	struct host_network n = some_network();
	const char *text = rules_of(&out, &n);

	assert_non_null(strstr(text, "169.254.0.0-169.254.255.255"));
	assert_non_null(strstr(text, "10.0.0.0-10.255.255.255"));
	assert_non_null(strstr(text, "100.64.0.0-100.127.255.255"));
	assert_null(strstr(text, "203.0.113"));
	assert_null(strstr(text, "198.51.100"));
}

TEST(allowed_ranges_are_the_chunks_own)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	struct host_network n = some_network();
	struct error err = {0};
	const char *text;

	assert_int_equal(network_allow_parse(&n, "192.168.7.0/24", &err), 0);
	text = rules_of(&out, &n);
	assert_non_null(
	        strstr(text, "add rule inet atoll chunk1024 ip daddr 192.168.7.0/24 accept"));
	assert_non_null(strstr(text, "10.213.4.2-10.213.8.1 : jump chunk1024"));
}

TEST(without_ipv6_nothing_of_it_passes)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	const struct host_network n = some_network();
	const char *text = rules_of(&out, &n);

	assert_null(strstr(text, "rule inet atoll from_sandbox6"));
	assert_null(strstr(text, "flush chain inet atoll from_sandbox6"));
	assert_null(strstr(text, "after6"));
	assert_non_null(strstr(text, "meta nfproto ipv6 jump from_sandbox6\n"
	                             "add rule inet atoll from_sandbox meta nfproto != ipv4 drop"));
	/* Nor of what was made when the option was on. */
	assert_non_null(strstr(text, "chunk6_1024 reject with icmpx"));
}

TEST(every_server_guards_interfaces_that_forward_for_sandboxes)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024), none = BUF(64 * 1024);
	const struct host_network n = {
	        .forced = {
	                [NETWORK_IPV4] = {{"wlan0"}, 1}, [NETWORK_IPV6] = {{"eth0", "eth1"}, 2}}};
	const struct host_network other = {.usable = true};

	network_forced_rules(&out, &n);
	assert_non_null(strstr(buf_text(&out), "forward4 iifname @forced4 oifname != \"atoll*\" "
	                                       "meta nfproto ipv4 drop\n"));
	assert_non_null(strstr(buf_text(&out), "forced4 { \"wlan0\" }"));
	assert_null(strstr(buf_text(&out), "forced6 { \"wlan0\" }"));
	assert_non_null(strstr(buf_text(&out), "forward6 iifname @forced6 oifname != \"atoll*\" "
	                                       "meta nfproto ipv6 drop\n"));
	assert_non_null(strstr(buf_text(&out), "forced6 { \"eth0\" }"));
	assert_non_null(strstr(buf_text(&out), "forced6 { \"eth1\" }"));
	network_forced_rules(&none, &other);
	assert_int_equal(none.size, 0);
}

TEST(with_ipv6_only_global_addresses_are_left)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	struct host_network n = some_network();
	struct error err = {0};
	const char *text;

	n.ipv6 = true;
	assert_int_equal(network_subnet6_parse("fd61:746f:6c6c::/64", &n.subnet6, &err), 0);
	assert_int_equal(network_allow_parse(&n, "fd12::/16", &err), 0);
	text = rules_of(&out, &n);
	assert_false(out.overflowed);
	assert_non_null(strstr(text, "refused6 { ::-1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff, "));
	assert_non_null(strstr(text, "fd61:746f:6c6c::402-fd61:746f:6c6c::801 : jump chunk6_1024"));
	assert_non_null(strstr(text, "chunk6_1024 ip6 daddr fd12::-fd12:ffff:"));
	/* The source is checked before anything is accepted. */
	assert_true(strstr(text, "from_sandbox6 fib saddr . iif oif missing drop") <
	            strstr(text, "from_sandbox6 ct state established,related accept"));
}

TEST(the_rules_of_a_server_guard_what_another_has_let_forward)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	struct host_network n = some_network();

	n.forced[NETWORK_IPV4] = (struct network_forced){{"wlan0"}, 1};
	assert_non_null(strstr(rules_of(&out, &n), "forced4 { \"wlan0\" }"));
}

TEST(the_default_routes_of_ipv4_are_found)
{
	static const char routes[] =
	        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n"
	        "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\n"
	        "*\t00000000\t00000000\t0200\t0\t0\t4096\t00000000\n"
	        "\t00000000\t\nan-endless-name-of-a-link\t00000000\t\n"
	        "eth1\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\n"
	        "cut\nwwan0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\n";
	struct span rest = {routes, sizeof(routes) - 1}, name;

	assert_true(network_next_uplink4(&rest, &name));
	assert_true(span_equals_text(name, "eth1"));
	assert_true(network_next_uplink4(&rest, &name));
	assert_true(span_equals_text(name, "wwan0"));
	assert_false(network_next_uplink4(&rest, &name));
}

TEST(the_default_routes_of_ipv6_are_found)
{
	static const char routes[] =
	        "fd000000000000000000000000000000 40 00000000000000000000000000000000 00 "
	        "00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0\n"
	        "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
	        "fd000000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n"
	        "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
	        "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n"
	        "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
	        "00000000000000000000000000000000 00000400 00000001 00000000 00000201     eth1\n"
	        "cut\n00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
	        "fd000000000000000000000000000001 00000400 00000001 00000000 00000003 wwan0\n";
	struct span rest = {routes, sizeof(routes) - 1}, name;

	assert_true(network_next_uplink6(&rest, &name));
	assert_true(span_equals_text(name, "eth0"));
	assert_true(network_next_uplink6(&rest, &name));
	assert_true(span_equals_text(name, "wwan0"));
	assert_false(network_next_uplink6(&rest, &name));
}

TEST(a_subnet_smaller_than_a_chunk_ends_the_range_early)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	struct host_network n = some_network();

	n.subnet.prefix = 24;
	network_rules(&out, &n, 0, 1024);
	assert_non_null(strstr(buf_text(&out), "10.213.0.2-10.213.0.254"));
}

int main(void)
{
	return RUN(CASE(a_range_is_an_address_and_a_prefix), CASE(what_is_not_a_range_is_refused),
	           CASE(a_list_of_allowed_ranges_may_be_empty_but_not_endless),
	           CASE(each_slot_has_an_address_of_its_own_until_the_subnet_ends),
	           CASE(nameservers_on_loopback_and_of_ipv6_are_no_use_inside),
	           CASE(no_more_nameservers_are_taken_than_libc_would),
	           CASE(private_and_metadata_addresses_are_refused_and_labs_are_not),
	           CASE(allowed_ranges_are_the_chunks_own),
	           CASE(allowed_ranges_of_ipv6_are_private_or_global),
	           CASE(each_slot_has_an_address_of_ipv6), CASE(without_ipv6_nothing_of_it_passes),
	           CASE(every_server_guards_interfaces_that_forward_for_sandboxes),
	           CASE(with_ipv6_only_global_addresses_are_left),
	           CASE(the_rules_of_a_server_guard_what_another_has_let_forward),
	           CASE(the_default_routes_of_ipv4_are_found),
	           CASE(the_default_routes_of_ipv6_are_found),
	           CASE(a_subnet_smaller_than_a_chunk_ends_the_range_early));
}
