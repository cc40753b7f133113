/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "base/fd.h"
#include "isolation/ids.h"
#include "isolation/layer.h"
#include "netlink/netlink.h"
#include "wire/launch.h"

#define BATCH_MAX 8192
#define INSIDE_INDEX 2

/* fe80::1, the next hop of IPv6. No link has this address: a fixed neighbour entry leads there. */
static const uint8_t gateway6[16] = {0xfe, 0x80, [15] = 1};

/* A locally administered address; the last byte tells the two ends apart. */
static void link_hardware(uint32_t slot, bool inside, unsigned char out[6])
{
	const unsigned char address[6] = {0x02,
	                                  0xa7,
	                                  (unsigned char)(slot >> 16),
	                                  (unsigned char)(slot >> 8),
	                                  (unsigned char)slot,
	                                  inside};

	memcpy(out, address, sizeof(address));
}

static void add_address(struct buf *b, uint16_t type, uint32_t address)
{
	netlink_add_u32(b, type, htonl(address));
}

static void add_route(struct buf *b, unsigned index, uint32_t destination, unsigned prefix,
                      uint32_t gateway)
{
	struct rtmsg route = {.rtm_family = AF_INET,
	                      .rtm_dst_len = (unsigned char)prefix,
	                      .rtm_table = RT_TABLE_MAIN,
	                      .rtm_protocol = RTPROT_STATIC,
	                      .rtm_scope = gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK,
	                      .rtm_type = RTN_UNICAST};
	size_t begin =
	        netlink_begin(b, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &route, sizeof(route));

	if (prefix)
		add_address(b, RTA_DST, destination);
	if (gateway)
		add_address(b, RTA_GATEWAY, gateway);
	netlink_add_u32(b, RTA_OIF, index);
	netlink_end(b, begin);
}

static void add_neighbour(struct buf *b, unsigned index, uint32_t address,
                          const unsigned char hardware[6])
{
	struct ndmsg neighbour = {
	        .ndm_family = AF_INET, .ndm_ifindex = (int)index, .ndm_state = NUD_PERMANENT};
	size_t begin = netlink_begin(b, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &neighbour,
	                             sizeof(neighbour));

	add_address(b, NDA_DST, address);
	netlink_add(b, NDA_LLADDR, hardware, 6);
	netlink_end(b, begin);
}

/* A route to one address, or by way of gateway6 to all. */
static void add_route6(struct buf *b, unsigned index, const uint8_t destination[16])
{
	struct rtmsg route = {.rtm_family = AF_INET6,
	                      .rtm_dst_len = destination ? 128 : 0,
	                      .rtm_table = RT_TABLE_MAIN,
	                      .rtm_protocol = RTPROT_STATIC,
	                      .rtm_scope = RT_SCOPE_UNIVERSE,
	                      .rtm_type = RTN_UNICAST};
	size_t begin =
	        netlink_begin(b, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &route, sizeof(route));

	if (destination)
		netlink_add(b, RTA_DST, destination, 16);
	else
		netlink_add(b, RTA_GATEWAY, gateway6, sizeof(gateway6));
	netlink_add_u32(b, RTA_OIF, index);
	netlink_end(b, begin);
}

static void add_neighbour6(struct buf *b, unsigned index, const uint8_t address[16],
                           const unsigned char hardware[6])
{
	struct ndmsg neighbour = {
	        .ndm_family = AF_INET6, .ndm_ifindex = (int)index, .ndm_state = NUD_PERMANENT};
	size_t begin = netlink_begin(b, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &neighbour,
	                             sizeof(neighbour));

	netlink_add(b, NDA_DST, address, 16);
	netlink_add(b, NDA_LLADDR, hardware, 6);
	netlink_end(b, begin);
}

static bool has_address6(const struct launch_agent *agent)
{
	static const uint8_t none[sizeof(agent->address6)];

	return memcmp(agent->address6, none, sizeof(none)) != 0;
}

static void add_link_up(struct buf *b, unsigned index, unsigned flags)
{
	struct ifinfomsg link = {
	        .ifi_index = (int)index, .ifi_flags = IFF_UP | flags, .ifi_change = IFF_UP | flags};

	netlink_end(b, netlink_begin(b, RTM_NEWLINK, 0, &link, sizeof(link)));
}

/* The default is one queue for each processor. The kernel would take back all but one at once, and
 * wait for its readers. */
static void add_one_queue(struct buf *b)
{
	netlink_add_u32(b, IFLA_NUM_TX_QUEUES, 1);
	netlink_add_u32(b, IFLA_NUM_RX_QUEUES, 1);
}

static void add_link_pair(struct buf *b, uint32_t slot, int namespace_fd)
{
	struct ifinfomsg outside = {.ifi_index = (int)(LAUNCH_LINK_INDEX_FIRST + slot)};
	struct ifinfomsg inside = {.ifi_index = INSIDE_INDEX};
	unsigned char hardware[6];
	char name[IFNAMSIZ];
	size_t begin, info, data, peer;

	(void)snprintf(name, sizeof(name), LAUNCH_LINK, slot);
	begin = netlink_begin(b, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &outside, sizeof(outside));
	netlink_add_text(b, IFLA_IFNAME, name);
	add_one_queue(b);
	link_hardware(slot, false, hardware);
	netlink_add(b, IFLA_ADDRESS, hardware, sizeof(hardware));
	info = netlink_open(b, IFLA_LINKINFO);
	netlink_add_text(b, IFLA_INFO_KIND, "veth");
	data = netlink_open(b, IFLA_INFO_DATA);
	peer = netlink_open(b, VETH_INFO_PEER);
	buf_add(b, &inside, sizeof(inside));
	netlink_add_text(b, IFLA_IFNAME, "eth0");
	add_one_queue(b);
	link_hardware(slot, true, hardware);
	netlink_add(b, IFLA_ADDRESS, hardware, sizeof(hardware));
	netlink_add_u32(b, IFLA_NET_NS_FD, (uint32_t)namespace_fd);
	netlink_close(b, peer);
	netlink_close(b, data);
	netlink_close(b, info);
	netlink_end(b, begin);
}

/* An address of IPv6 on the outer end would be useless: the sandbox's next hop has a fixed
 * neighbour entry. The kernel would also probe the link for duplicates. */
static void add_no_address(struct buf *b)
{
	static const uint8_t mode = IN6_ADDR_GEN_MODE_NONE;
	size_t family = netlink_open(b, AF_INET6);

	netlink_add(b, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof(mode));
	netlink_close(b, family);
}

/* Sets what /proc/sys/net/ipv4/conf/LINK/ would set: packets are forwarded from this link, and only
 * with the source address that is routed to it. */
static void add_link_rules(struct buf *b, unsigned index, bool has_ipv6)
{
	static const struct {
		uint16_t what;
		uint32_t value;
	} rows[] = {{IPV4_DEVCONF_FORWARDING, 1},
	            {IPV4_DEVCONF_RP_FILTER, 1},
	            {IPV4_DEVCONF_ACCEPT_REDIRECTS, 0},
	            {IPV4_DEVCONF_SEND_REDIRECTS, 0},
	            {IPV4_DEVCONF_PROXY_ARP, 0}};
	struct ifinfomsg link = {.ifi_index = (int)index};
	size_t begin = netlink_begin(b, RTM_SETLINK, 0, &link, sizeof(link));
	size_t spec = netlink_open(b, IFLA_AF_SPEC);
	size_t family = netlink_open(b, AF_INET);
	size_t list = netlink_open(b, IFLA_INET_CONF);

	for (unsigned i = 0; i < COUNT_OF(rows); i++)
		netlink_add_u32(b, rows[i].what, rows[i].value);
	netlink_close(b, list);
	netlink_close(b, family);
	if (has_ipv6)
		add_no_address(b);
	netlink_close(b, spec);
	netlink_end(b, begin);
}

void link_host_batch(struct buf *out, const struct launch_agent *agent, int namespace_fd)
{
	unsigned index = LAUNCH_LINK_INDEX_FIRST + agent->slot;
	unsigned char hardware[6];

	add_link_pair(out, agent->slot, namespace_fd);
	add_link_rules(out, index, agent->has_ipv6);
	add_link_up(out, index, 0);
	add_route(out, index, agent->address, 32, 0);
	link_hardware(agent->slot, true, hardware);
	add_neighbour(out, index, agent->address, hardware);
	if (has_address6(agent)) {
		add_route6(out, index, agent->address6);
		add_neighbour6(out, index, agent->address6, hardware);
	}
}

/* No other link has the address, so it is not probed for. */
static void add_inside6(struct buf *out, const struct launch_agent *agent,
                        const unsigned char hardware[6])
{
	struct ifaddrmsg own = {.ifa_family = AF_INET6,
	                        .ifa_prefixlen = 128,
	                        .ifa_flags = IFA_F_NODAD,
	                        .ifa_index = INSIDE_INDEX};
	size_t begin =
	        netlink_begin(out, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &own, sizeof(own));

	netlink_add(out, IFA_LOCAL, agent->address6, sizeof(agent->address6));
	netlink_add(out, IFA_ADDRESS, agent->address6, sizeof(agent->address6));
	netlink_end(out, begin);
	add_neighbour6(out, INSIDE_INDEX, gateway6, hardware);
	add_route6(out, INSIDE_INDEX, NULL);
}

void link_inside_batch(struct buf *out, const struct launch_agent *agent)
{
	struct ifaddrmsg own = {
	        .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = INSIDE_INDEX};
	unsigned char hardware[6];
	size_t begin;

	/* Neighbours are fixed. With IPv6 the kernel would tell routers of the address's group, and
	 * a link that nothing was sent on needs no search for flows when its sandbox ends. */
	add_link_up(out, INSIDE_INDEX, has_address6(agent) ? IFF_NOARP : 0);
	begin = netlink_begin(out, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &own, sizeof(own));
	add_address(out, IFA_LOCAL, agent->address);
	add_address(out, IFA_ADDRESS, agent->address);
	netlink_end(out, begin);
	link_hardware(agent->slot, false, hardware);
	add_neighbour(out, INSIDE_INDEX, LAUNCH_GATEWAY, hardware);
	add_route(out, INSIDE_INDEX, LAUNCH_GATEWAY, 32, 0);
	add_route(out, INSIDE_INDEX, 0, 0, LAUNCH_GATEWAY);
	if (has_address6(agent))
		add_inside6(out, agent, hardware);
}

struct kernel_option {
	const char *path, *value;
};

static int set_options(int proc, const struct kernel_option *rows, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (file_poke(proc, rows[i].path, rows[i].value, err) == 0)
			continue;
		if (err->sys_errno != ENOENT)
			return -1;
		error_clear(err); /* a kernel without IPv6 */
	}
	return 0;
}

/* Loopback has IPv6 in any case. A link is made later, and gets it with these options: it has the
 * address that it is given, and learns nothing from what arrives. */
static int set_kernel_options(const struct launch_agent *agent, int proc, struct error *err)
{
	static const struct kernel_option without_ipv6[] = {
	        {"sys/net/ipv6/conf/default/disable_ipv6", "1"},
	};
	static const struct kernel_option with_ipv6[] = {
	        {"sys/net/ipv6/conf/default/disable_ipv6", "0"},
	        {"sys/net/ipv6/conf/default/addr_gen_mode", "1"},
	        {"sys/net/ipv6/conf/default/accept_ra", "0"},
	        {"sys/net/ipv6/conf/default/autoconf", "0"},
	        {"sys/net/ipv6/conf/default/accept_redirects", "0"},
	        {"sys/net/ipv6/conf/default/dad_transmits", "0"},
	};
	char groups[32];
	const struct kernel_option rows[] = {
	        {"sys/net/ipv4/ping_group_range", groups},
	        {"sys/net/ipv4/ip_unprivileged_port_start", "0"},
	};

	/* Group ids are the host's here: those of all sandboxes. */
	(void)snprintf(groups, sizeof(groups), "%u %u", ID_FIRST, ID_STORED - 1);
	if (set_options(proc, rows, COUNT_OF(rows), err) < 0)
		return -1;
	return has_address6(agent) ? set_options(proc, with_ipv6, COUNT_OF(with_ipv6), err)
	                           : set_options(proc, without_ipv6, COUNT_OF(without_ipv6), err);
}

static int bring_loopback_up(int inside, struct error *err)
{
	AUTO(buf_done) struct buf batch = BUF(BATCH_MAX);

	add_link_up(&batch, 1, 0);
	return netlink_run(inside, &batch, "bring loopback up", err);
}

static int make_link(const struct launch_agent *agent, int host, struct error *err)
{
	AUTO(buf_done) struct buf batch = BUF(BATCH_MAX);
	AUTO_CLOSE int namespace_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (namespace_fd < 0)
		return FAIL_ERRNO(err, "open the network namespace");
	link_host_batch(&batch, agent, namespace_fd);
	return netlink_run(host, &batch, "make the network link", err);
}

static int connect_namespace(const struct launch_agent *agent, int host, int inside,
                             struct error *err)
{
	AUTO(buf_done) struct buf batch = BUF(BATCH_MAX);

	if (make_link(agent, host, err) < 0)
		return -1;
	link_inside_batch(&batch, agent);
	return netlink_run(inside, &batch, "set up the network inside", err);
}

/* The names of all namespaces' options share one chain in the kernel's name cache, which is
 * searched from end to end. With thousands of sandboxes that search takes most of the time of
 * making one. Names that are opened through our own /proc go away with it. */
int link_options_open(int *ret_proc, struct error *err)
{
	return layer_make("proc", "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
	                  ret_proc, err);
}

int link_enter_new(const struct launch_agent *agent, int proc, struct error *err)
{
	AUTO_CLOSE int host = -1, inside = -1;

	if (agent->address != 0 && netlink_socket(&host, err) < 0)
		return -1;
	if (unshare(CLONE_NEWNET) < 0)
		return FAIL_ERRNO(err, "make a network namespace");
	if (netlink_socket(&inside, err) < 0 || set_kernel_options(agent, proc, err) < 0 ||
	    bring_loopback_up(inside, err) < 0)
		return -1;
	return agent->address != 0 ? connect_namespace(agent, host, inside, err) : 0;
}
