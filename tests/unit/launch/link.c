/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/link.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "unit.h"
#include "wire/launch.h"

static const struct launch_agent some_agent = {.slot = 5, .address = 0x0ad50007};

static unsigned count_type(const struct buf *batch, uint16_t type)
{
	unsigned count = 0, left = (unsigned)batch->size;
	struct nlmsghdr *head = (void *)batch->data;

	for (; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left))
		count += head->nlmsg_type == type;
	assert_int_equal(left, 0);
	return count;
}

TEST(the_two_batches_hold_what_a_link_needs)
{
	AUTO(buf_done) struct buf host = BUF(8192);
	AUTO(buf_done) struct buf inside = BUF(8192);

	link_host_batch(&host, &some_agent, 9);
	assert_int_equal(count_type(&host, RTM_NEWLINK), 2);
	assert_int_equal(count_type(&host, RTM_SETLINK), 1);
	assert_int_equal(count_type(&host, RTM_NEWROUTE), 1);
	assert_int_equal(count_type(&host, RTM_NEWNEIGH), 1);
	link_inside_batch(&inside, &some_agent);
	assert_int_equal(count_type(&inside, RTM_NEWADDR), 1);
	assert_int_equal(count_type(&inside, RTM_NEWROUTE), 2);
	assert_int_equal(count_type(&inside, RTM_NEWNEIGH), 1);
	assert_false(host.overflowed || inside.overflowed);
}

TEST(a_link_with_ipv6_has_fixed_ends_for_it_too)
{
	const struct launch_agent agent = {
	        .slot = 5, .address = 0x0ad50007, .address6 = {0xfd, 0x61, [15] = 7}};
	AUTO(buf_done) struct buf host = BUF(8192);
	AUTO(buf_done) struct buf inside = BUF(8192);

	link_host_batch(&host, &agent, 9);
	assert_int_equal(count_type(&host, RTM_NEWADDR), 0);
	assert_int_equal(count_type(&host, RTM_NEWROUTE), 2);
	assert_int_equal(count_type(&host, RTM_NEWNEIGH), 2);
	link_inside_batch(&inside, &agent);
	assert_int_equal(count_type(&inside, RTM_NEWADDR), 2);
	assert_int_equal(count_type(&inside, RTM_NEWROUTE), 3);
	assert_int_equal(count_type(&inside, RTM_NEWNEIGH), 2);
	assert_false(host.overflowed || inside.overflowed);
}

/* 1: the kernel gives the link no IPv6 address. */
static void expect_no_address_of_its_own(void)
{
	AUTO(buf_done) struct buf text = BUF(64);
	struct error err = {0};

	assert_int_equal(file_read(AT_FDCWD, "/proc/sys/net/ipv6/conf/atoll28002/addr_gen_mode",
	                           &text, &err),
	                 0);
	assert_string_equal(buf_text(&text), "1\n");
}

/* More would be taken back by the kernel, one by one. */
static void expect_one_queue_each_way(void)
{
	assert_int_equal(access("/sys/class/net/atoll28002/queues/tx-0", F_OK), 0);
	assert_int_equal(access("/sys/class/net/atoll28002/queues/rx-0", F_OK), 0);
	assert_int_equal(access("/sys/class/net/atoll28002/queues/tx-1", F_OK), -1);
	assert_int_equal(access("/sys/class/net/atoll28002/queues/rx-1", F_OK), -1);
}

static unsigned count_attribute(const struct buf *batch, uint16_t type, uint32_t value)
{
	struct {
		uint16_t size, type;
		uint32_t value;
	} wanted = {8, type, value};
	unsigned count = 0;

	for (size_t at = 0; at + sizeof(wanted) <= batch->size; at += 4)
		count += memcmp(batch->data + at, &wanted, sizeof(wanted)) == 0;
	return count;
}

TEST(both_ends_of_a_link_have_one_queue_each_way)
{
	AUTO(buf_done) struct buf host = BUF(8192);

	link_host_batch(&host, &some_agent, 9);
	assert_int_equal(count_attribute(&host, IFLA_NUM_TX_QUEUES, 1), 2);
	assert_int_equal(count_attribute(&host, IFLA_NUM_RX_QUEUES, 1), 2);
}

static bool option_is(const char *path, const char *wanted)
{
	AUTO(buf_done) struct buf text = BUF(64);
	struct error err = {0};

	return file_read(AT_FDCWD, path, &text, &err) == 0 && strcmp(buf_text(&text), wanted) == 0;
}

/* One address, which is not probed for, and nothing that the link could learn. */
static bool ipv6_is_fixed(void)
{
	AUTO(buf_done) struct buf text = BUF(4096);
	struct error err = {0};

	return file_read(AT_FDCWD, "/proc/net/if_inet6", &text, &err) == 0 &&
	       strstr(buf_text(&text), "fd610000000000000000000000000007 02 80 00 82     eth0") &&
	       !strstr(buf_text(&text), "fe80") &&
	       option_is("/proc/sys/net/ipv6/conf/eth0/accept_ra", "0\n") &&
	       option_is("/proc/sys/net/ipv6/conf/eth0/accept_redirects", "0\n") &&
	       option_is("/proc/sys/net/ipv6/conf/eth0/forwarding", "0\n");
}

/* For real, in a child: the link goes with the child's namespace. */
TEST(a_new_namespace_has_loopback_and_its_link)
{
	struct launch_agent agent = {.slot = 28002, .address = 0x0ad50007};
	int status, told[2], may_end[2];
	char byte;
	pid_t pid;

	agent.has_ipv6 = access("/proc/sys/net/ipv6", F_OK) == 0;
	if (agent.has_ipv6)
		memcpy(agent.address6, (const uint8_t[16]){0xfd, 0x61, [15] = 7}, 16);

	if (geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	assert_int_equal(pipe2(may_end, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct error err = {0};
		int proc;

		(void)close(may_end[1]);
		if (link_options_open(&proc, &err) < 0 || link_enter_new(&agent, proc, &err) < 0) {
			(void)fprintf(stderr, "%s\n", err.text);
			_exit(1);
		}
		(void)!write(told[1], "", 1);
		(void)!read(may_end[0], &byte, 1);
		if (access("/proc/sys/net/ipv4/conf/eth0", F_OK) < 0)
			_exit(2);
		_exit(!agent.has_ipv6 || ipv6_is_fixed() ? 0 : 3);
	}
	(void)close(told[1]);
	assert_int_equal(read(told[0], &byte, 1), 1); /* nothing: the child has failed */
	expect_one_queue_each_way();
	if (agent.has_ipv6)
		expect_no_address_of_its_own();
	(void)close(may_end[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void)close(told[0]);
	(void)close(may_end[0]);
}

/* In a child, whose namespaces end with it. */
TEST(one_proc_reaches_the_options_of_whichever_namespace_is_entered)
{
	const struct launch_agent blocked = {.slot = 28003};
	int status;
	pid_t pid;

	if (geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
	pid = fork();
	if (pid == 0) {
		struct error err = {0};
		int proc;

		if (link_options_open(&proc, &err) < 0)
			_exit(1);
		for (unsigned i = 0; i < 3; i++)
			if (link_enter_new(&blocked, proc, &err) < 0 ||
			    !option_is("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0\n"))
				_exit(2);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	return RUN(CASE(the_two_batches_hold_what_a_link_needs),
	           CASE(a_link_with_ipv6_has_fixed_ends_for_it_too),
	           CASE(both_ends_of_a_link_have_one_queue_each_way),
	           CASE(one_proc_reaches_the_options_of_whichever_namespace_is_entered),
	           CASE(a_new_namespace_has_loopback_and_its_link));
}
