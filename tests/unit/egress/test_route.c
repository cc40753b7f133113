/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/route.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "unit.h"

#define LOOPBACK 0x7f000001u
#define RANGE 0xc6336401u /* 198.51.100.1 */
#define FAR 0x01010101u

/* For real, in a network namespace that is this program's alone. */
TEST(what_the_host_has_and_what_nobody_has_does_not_lead_out)
{
	AUTO_CLOSE int fd = -1;
	struct error err = {0};

	if (geteuid() != 0 || access("/usr/sbin/ip", X_OK) < 0) {
		print_message("needs root and ip\n");
		skip();
	}
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(route_open(&fd, &err), 0);
	assert_false(route_leads_out(fd, FAR, false));
	assert_true(route_leads_out(fd, FAR, true));
	assert_int_equal(system("ip link set lo up && ip addr add 198.51.100.1/24 dev lo && "
	                        "ip link add uplink type veth peer name beyond && "
	                        "ip addr add 192.0.2.2/24 dev uplink && ip link set uplink up && "
	                        "ip link set beyond up && ip route add default via 192.0.2.1 && "
	                        "ip route add unreachable 9.9.9.0/24"),
	                 0);
	assert_true(route_leads_out(fd, FAR, false));
	assert_true(route_leads_out(fd, 0xc0000203, false)); /* a neighbour */
	assert_false(route_leads_out(fd, 0xc0000202, false));
	assert_false(route_leads_out(fd, 0xc00002ff, false));
	assert_false(route_leads_out(fd, LOOPBACK, true));
	assert_false(route_leads_out(fd, LOOPBACK + 76, true));
	assert_false(route_leads_out(fd, RANGE, true));
	assert_false(route_leads_out(fd, RANGE + 76, true));
	assert_false(route_leads_out(fd, 0x09090909, true));
	assert_false(route_leads_out(fd, 0xe0000001, true));
	assert_false(route_leads_out(fd, UINT32_MAX, true));
}

static bool leads_out6(int fd, const char *text)
{
	struct address6 address;

	assert_int_equal(inet_pton(AF_INET6, text, address.bytes), 1);
	return route_leads_out6(fd, &address);
}

TEST(what_leads_out_by_ipv6_is_another_machine_too)
{
	AUTO_CLOSE int fd = -1;
	struct error err = {0};

	if (geteuid() != 0 || access("/usr/sbin/ip", X_OK) < 0) {
		print_message("needs root and ip\n");
		skip();
	}
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(route_open(&fd, &err), 0);
	assert_false(leads_out6(fd, "2600::"));
	if (system("ip link set lo up && ip link add uplink type veth peer name beyond && "
	           "ip link set uplink up && ip link set beyond up && "
	           "ip addr add 2601::2/64 dev uplink nodad && "
	           "ip -6 route add default via 2601::1 && "
	           "ip -6 route add unreachable 2602::/16") != 0) {
		print_message("needs IPv6\n");
		skip();
	}
	assert_true(leads_out6(fd, "2600::"));
	assert_true(leads_out6(fd, "2601::1"));
	assert_false(leads_out6(fd, "2601::2"));
	assert_false(leads_out6(fd, "2602::1"));
	assert_false(leads_out6(fd, "::1"));
	assert_false(leads_out6(fd, "ff02::1"));
}

TEST(without_an_answer_nothing_leads_out)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), 0);
	assert_false(route_leads_out(fds[0], FAR, true));
	/* What was asked is no answer. */
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(send(fds[1], "nothing of netlink", 18, 0), 18);
	assert_false(route_leads_out(fds[0], FAR, true));
	(void)close(fds[0]);
	(void)close(fds[1]);
	assert_false(route_leads_out(fds[0], FAR, true));
}

int main(void)
{
	return RUN(CASE(what_leads_out_by_ipv6_is_another_machine_too),
	           CASE(without_an_answer_nothing_leads_out),
	           CASE(what_the_host_has_and_what_nobody_has_does_not_lead_out));
}
