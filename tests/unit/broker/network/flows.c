/* SPDX-License-Identifier: Apache-2.0 */
/* For real, in a network namespace that is this program's alone. */
#include <signal.h>
#include <unistd.h>

#include "../conntrack.h"
#include "broker/network/flows.h"
#include "broker/network/network.h"
#include "unit.h"

#define MANY 300u /* more than are forgotten, and listed, at once */

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
	const struct host_network n = {.subnet = {0x7f000000u, 8}};
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

static unsigned flows_of6(const struct address6 *from)
{
	struct error err = {0};
	struct seen seen = {0, 0};

	assert_int_equal(network_flows_forget6(from, note, &seen, &err), 0);
	return seen.count;
}

/* All of them come from ::1. */
TEST(flows_of_ipv6_are_forgotten_by_their_address)
{
	const struct sockaddr_in6 to = {
	        .sin6_family = AF_INET6, .sin6_port = htons(9), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const struct address6 own = {{[15] = 1}}, other = {{[15] = 2}};
	struct error err = {0};

	if (cannot())
		skip();
	enter_namespace();
	for (unsigned i = 0; i < 2; i++) {
		AUTO_CLOSE int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		assert_int_equal(sendto(fd, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to)),
		                 1);
	}
	send_to(FROM, TO, 9);
	assert_int_equal(flows_of6(&own), 2);
	assert_int_equal(flows_of6(&other), 0);
	assert_int_equal(flows_of6(NULL), 2);
	assert_int_equal(network_flows_forget6(&own, is_any, NULL, &err), 0);
	assert_int_equal(flows_of6(NULL), 0);
	assert_int_equal(flows_of(FROM).count, 1);
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
	           CASE(flows_of_ipv6_are_forgotten_by_their_address),
	           CASE(who_answers_for_what_is_led_elsewhere_is_another_one),
	           CASE(the_flows_of_dead_ones_end_and_those_beside_them_go_on),
	           CASE(more_flows_than_are_listed_at_once_are_all_forgotten));
}
