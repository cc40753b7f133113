/* SPDX-License-Identifier: Apache-2.0 */
/* For real, in a network namespace that is this program's alone. */
#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/netlink.h"
#include "broker/network.h"
#include "unit.h"

#define FROM 0x7f000007u
#define OTHER 0x7f000008u
#define TO 0x7f000009u
#define MANY 300u /* more than are forgotten, and listed, at once */

/* What asks for states makes the kernel remember. */
static const char remembering[] =
        "add table inet unit\n"
        "add chain inet unit out { type filter hook output priority 0; }\n"
        "add rule inet unit out ct state new accept\n"
        "add chain inet unit led { type nat hook output priority -100; }\n"
        "add rule inet unit led udp dport 53 redirect to :5353\n";

static void send_to(uint32_t from, uint32_t to, uint16_t port)
{
	const struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(from)};
	const struct sockaddr_in there = {
	        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(to)};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&here, sizeof(here)), 0);
	assert_int_equal(sendto(fd, "x", 1, 0, (const struct sockaddr *)&there, sizeof(there)), 1);
}

struct seen {
	unsigned count, led;
};

static bool note(const void *context, const struct flow *flow)
{
	struct seen *seen = (void *)(uintptr_t)context;

	assert_int_equal(flow->protocol, IPPROTO_UDP);
	seen->count++;
	seen->led += flow->answers_of != flow->to;
	return false;
}

static struct seen flows_of(uint32_t address)
{
	struct error err = {0};
	struct seen seen = {0, 0};

	assert_int_equal(network_flows_forget(address, note, &seen, &err), 0);
	return seen;
}

static bool is_any(UNUSED const void *context, UNUSED const struct flow *flow)
{
	return true;
}

static bool is_to(const void *context, const struct flow *flow)
{
	return flow->to == *(const uint32_t *)context;
}

static bool cannot(void)
{
	if (geteuid() == 0 && access("/usr/sbin/nft", X_OK) == 0)
		return false;
	print_message("needs root and nft\n");
	return true;
}

static void enter_namespace(void)
{
	struct ifinfomsg link = {.ifi_index = 1, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
	AUTO(buf_done) struct buf batch = BUF(256);
	AUTO_CLOSE int fd = -1;
	struct error err = {0};

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	netlink_end(&batch, netlink_begin(&batch, RTM_NEWLINK, 0, &link, sizeof(link)));
	assert_int_equal(netlink_socket(&fd, &err), 0);
	assert_int_equal(netlink_run(fd, &batch, "bring loopback up", &err), 0);
	assert_int_equal(network_nft(SPAN(remembering), NULL, &err), 0);
}

TEST(the_flows_of_one_address_are_forgotten_and_no_other_s)
{
	const uint32_t to = TO;
	struct error err = {0};

	if (cannot())
		skip();
	enter_namespace();
	send_to(FROM, TO, 9);
	send_to(FROM, TO, 10);
	send_to(FROM, TO + 1, 9);
	send_to(OTHER, TO, 9);
	assert_int_equal(flows_of(FROM).count, 3);
	assert_int_equal(network_flows_forget(FROM, is_to, &to, &err), 0);
	assert_int_equal(flows_of(FROM).count, 1);
	assert_int_equal(network_flows_forget(FROM, is_any, NULL, &err), 0);
	assert_int_equal(flows_of(FROM).count, 0);
	assert_int_equal(flows_of(OTHER).count, 1);
}

TEST(who_answers_for_what_is_led_elsewhere_is_another_one)
{
	struct seen seen;

	if (cannot())
		skip();
	enter_namespace();
	send_to(FROM, TO, 53);
	send_to(FROM, TO, 9);
	seen = flows_of(FROM);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.led, 1);
}

TEST(more_flows_than_are_listed_at_once_are_all_forgotten)
{
	struct error err = {0};

	if (cannot())
		skip();
	enter_namespace();
	for (uint16_t i = 0; i < MANY; i++)
		send_to(FROM, TO, (uint16_t)(1000 + i));
	assert_int_equal(flows_of(FROM).count, MANY);
	assert_int_equal(network_flows_forget(FROM, is_any, NULL, &err), 0);
	assert_int_equal(flows_of(FROM).count, 0);
}

TEST(the_flows_of_dead_ones_end_and_those_beside_them_go_on)
{
	const struct network n = {.subnet = {0x7f000000u, 8}};
	const uint32_t slots[] = {FROM - 0x7f000002u, OTHER - 0x7f000002u};
	struct error err = {0};

	if (cannot())
		skip();
	enter_namespace();
	send_to(FROM, TO, 9);
	send_to(OTHER, TO, 9);
	send_to(TO, OTHER, 9);
	assert_int_equal(network_flows_end(&n, slots, 0, &err), 0);
	assert_int_equal(flows_of(0).count, 3);
	assert_int_equal(network_flows_end(&n, slots, 1, &err), 0);
	assert_int_equal(flows_of(FROM).count, 0);
	assert_int_equal(flows_of(0).count, 2);
	assert_int_equal(network_flows_end(&n, slots, COUNT_OF(slots), &err), 0);
	assert_int_equal(flows_of(OTHER).count, 0);
	assert_int_equal(flows_of(TO).count, 1);
}

TEST(who_may_not_is_told_so)
{
	uid_t user = geteuid();
	struct error err = {0};

	if (user == 0)
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(network_flows_forget(FROM, is_any, NULL, &err), -1);
	if (user == 0)
		assert_int_equal(seteuid(user), 0);
	assert_true(err.text[0] != '\0');
}

int main(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	return RUN(CASE(who_may_not_is_told_so),
	           CASE(the_flows_of_one_address_are_forgotten_and_no_other_s),
	           CASE(who_answers_for_what_is_led_elsewhere_is_another_one),
	           CASE(the_flows_of_dead_ones_end_and_those_beside_them_go_on),
	           CASE(more_flows_than_are_listed_at_once_are_all_forgotten));
}
