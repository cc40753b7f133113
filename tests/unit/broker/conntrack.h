/* SPDX-License-Identifier: Apache-2.0 */
/* A network namespace that is the program's alone, in which the kernel remembers what is sent. */
#pragma once

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/network/firewall.h"
#include "broker/network/network.h"
#include "netlink/netlink.h"
#include "nft.h"
#include "unit.h"

#define FROM 0x7f000007u
#define OTHER 0x7f000008u
#define TO 0x7f000009u

/* What asks for states makes the kernel remember. */
static const char remembering[] =
        "add table inet unit\n"
        "add chain inet unit out { type filter hook output priority 0; }\n"
        "add rule inet unit out ct state new accept\n"
        "add chain inet unit led { type nat hook output priority -100; }\n"
        "add rule inet unit led udp dport 53 redirect to :5353\n";

static inline void send_to(uint32_t from, uint32_t to, uint16_t port)
{
	const struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(from)};
	const struct sockaddr_in there = {
	        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(to)};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&here, sizeof(here)), 0);
	assert_int_equal(sendto(fd, "x", 1, 0, (const struct sockaddr *)&there, sizeof(there)), 1);
}

static inline bool cannot(void)
{
	if (geteuid() == 0 && access("/usr/sbin/nft", X_OK) == 0)
		return false;
	print_message("needs root and nft\n");
	return true;
}

static inline void enter_namespace(void)
{
	struct ifinfomsg link = {.ifi_index = 1, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
	AUTO(buf_done) struct buf batch = BUF(256);
	AUTO_CLOSE int fd = -1;
	struct error err = {0};

	assert_int_equal(unshare(CLONE_NEWNET | CLONE_NEWNS), 0);
	/* Or the links of a server that runs on this machine would be seen, by their names. */
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("sysfs", "/sys", "sysfs", 0, NULL), 0);
	netlink_end(&batch, netlink_begin(&batch, RTM_NEWLINK, 0, &link, sizeof(link)));
	assert_int_equal(netlink_socket(&fd, &err), 0);
	assert_int_equal(netlink_run(fd, &batch, "bring loopback up", &err), 0);
	run_nft_here();
	assert_int_equal(network_nft(SPAN(remembering), NULL, &err), 0);
}
