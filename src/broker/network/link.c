/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/network/link.h"

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
#include "broker/network/netlink.h"
#include "broker/network/network.h"
#include "isolation/layer.h"

#define BATCH_MAX 8192
#define GATEWAY 0xa9fe0101u /* NETWORK_GATEWAY */
#define INSIDE_INDEX 2
#define OUTSIDE_INDEX_FIRST (1 << 20)

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

/* ---- messages ---- */

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

static void add_link_up(struct buf *b, unsigned index)
{
	struct ifinfomsg link = {
	        .ifi_index = (int)index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};

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
	struct ifinfomsg outside = {.ifi_index = (int)(OUTSIDE_INDEX_FIRST + slot)};
	struct ifinfomsg inside = {.ifi_index = INSIDE_INDEX};
	unsigned char hardware[6];
	char name[NETWORK_LINK_SIZE];
	size_t begin, info, data, peer;

	network_link_name(slot, name);
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

/* The sandbox has no IPv6 on this link. An address on the outer end would be useless, and the
 * kernel would probe the link for duplicates. */
static void add_no_address(struct buf *b)
{
	static const uint8_t mode = IN6_ADDR_GEN_MODE_NONE;
	size_t family = netlink_open(b, AF_INET6);

	netlink_add(b, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof(mode));
	netlink_close(b, family);
}

/* Sets what /proc/sys/net/ipv4/conf/LINK/ would set: packets are forwarded from this link, and only
 * with the source address that is routed to it. */
static void add_link_rules(struct buf *b, const struct host_network *n, unsigned index)
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
	if (n->has_ipv6)
		add_no_address(b);
	netlink_close(b, spec);
	netlink_end(b, begin);
}

void network_host_batch(struct buf *out, const struct host_network *n, uint32_t slot,
                        uint32_t address, int namespace_fd)
{
	unsigned index = OUTSIDE_INDEX_FIRST + slot;
	unsigned char hardware[6];

	add_link_pair(out, slot, namespace_fd);
	add_link_rules(out, n, index);
	add_link_up(out, index);
	add_route(out, index, address, 32, 0);
	link_hardware(slot, true, hardware);
	add_neighbour(out, index, address, hardware);
}

void network_inside_batch(struct buf *out, uint32_t slot, uint32_t address)
{
	struct ifaddrmsg own = {
	        .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = INSIDE_INDEX};
	unsigned char hardware[6];
	size_t begin;

	add_link_up(out, INSIDE_INDEX);
	begin = netlink_begin(out, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &own, sizeof(own));
	add_address(out, IFA_LOCAL, address);
	add_address(out, IFA_ADDRESS, address);
	netlink_end(out, begin);
	link_hardware(slot, false, hardware);
	add_neighbour(out, INSIDE_INDEX, GATEWAY, hardware);
	add_route(out, INSIDE_INDEX, GATEWAY, 32, 0);
	add_route(out, INSIDE_INDEX, 0, 0, GATEWAY);
}

/* ---- the calling process's new namespace ---- */

static int set_kernel_options(int proc, struct error *err)
{
	char groups[32];
	const struct {
		const char *path, *value;
	} rows[] = {
	        {"sys/net/ipv4/ping_group_range", groups},
	        {"sys/net/ipv4/ip_unprivileged_port_start", "0"},
	        /* Loopback keeps IPv6; a link made later does not get it. */
	        {"sys/net/ipv6/conf/default/disable_ipv6", "1"},
	};

	/* Group ids are the host's here: those of all sandboxes. */
	(void)snprintf(groups, sizeof(groups), "%u %u", ID_FIRST, ID_STORED - 1);
	for (unsigned i = 0; i < COUNT_OF(rows); i++) {
		if (file_poke(proc, rows[i].path, rows[i].value, err) == 0)
			continue;
		if (err->sys_errno != ENOENT)
			return -1;
		error_clear(err); /* a kernel without IPv6 */
	}
	return 0;
}

static int bring_loopback_up(int inside, struct error *err)
{
	AUTO(buf_done) struct buf batch = BUF(BATCH_MAX);

	add_link_up(&batch, 1);
	return netlink_run(inside, &batch, "bring loopback up", err);
}

static int make_link(const struct host_network *n, int host, uint32_t slot, uint32_t address,
                     struct error *err)
{
	AUTO(buf_done) struct buf batch = BUF(BATCH_MAX);
	AUTO_CLOSE int namespace_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (namespace_fd < 0)
		return FAIL_ERRNO(err, "open the network namespace");
	network_host_batch(&batch, n, slot, address, namespace_fd);
	return netlink_run(host, &batch, "make the network link", err);
}

static int connect_namespace(const struct host_network *n, int host, int inside, uint32_t slot,
                             struct error *err)
{
	AUTO(buf_done) struct buf batch = BUF(BATCH_MAX);
	uint32_t address;

	if (network_address(n, slot, &address, err) < 0)
		return -1;
	if (make_link(n, host, slot, address, err) < 0)
		return -1;
	network_inside_batch(&batch, slot, address);
	return netlink_run(inside, &batch, "set up the network inside", err);
}

/* The names of all namespaces' options share one chain in the kernel's name cache, which is
 * searched from end to end. With thousands of sandboxes that search takes most of the time of
 * making one. Names that are opened through our own /proc go away with it. */
int network_options_open(int *ret_proc, struct error *err)
{
	return layer_make("proc", "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
	                  ret_proc, err);
}

int network_enter_new(const struct host_network *n, uint32_t slot, int proc, struct error *err)
{
	AUTO_CLOSE int host = -1, inside = -1;

	if (n) {
		char name[NETWORK_LINK_SIZE];

		network_link_name(slot, name);
		/* The kernel may not have removed the link of the slot's last sandbox yet. */
		if (if_nametoindex(name))
			network_link_remove(slot);
		if (netlink_socket(&host, err) < 0)
			return -1;
	}
	if (unshare(CLONE_NEWNET) < 0)
		return FAIL_ERRNO(err, "make a network namespace");
	if (netlink_socket(&inside, err) < 0 || set_kernel_options(proc, err) < 0 ||
	    bring_loopback_up(inside, err) < 0)
		return -1;
	return n ? connect_namespace(n, host, inside, slot, err) : 0;
}

/* The address has link scope, so the host does not use it as a source for other packets. */
int network_link_answer(uint32_t slot, struct error *err)
{
	AUTO(buf_done) struct buf batch = BUF(BATCH_MAX);
	struct ifaddrmsg own = {.ifa_family = AF_INET,
	                        .ifa_prefixlen = 32,
	                        .ifa_scope = RT_SCOPE_LINK,
	                        .ifa_index = OUTSIDE_INDEX_FIRST + slot};
	AUTO_CLOSE int fd = -1;
	size_t begin =
	        netlink_begin(&batch, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &own, sizeof(own));

	add_address(&batch, IFA_LOCAL, GATEWAY);
	add_address(&batch, IFA_ADDRESS, GATEWAY);
	netlink_end(&batch, begin);
	return netlink_socket(&fd, err) < 0
	               ? -1
	               : netlink_run(fd, &batch, "give a link its address", err);
}

static void change_link(uint32_t slot, uint16_t how, const struct ifinfomsg *link)
{
	AUTO(buf_done) struct buf batch = BUF(BATCH_MAX);
	AUTO_CLOSE int fd = -1;
	struct error ignored = {0};
	char name[NETWORK_LINK_SIZE];
	size_t begin;

	network_link_name(slot, name);
	begin = netlink_begin(&batch, how, 0, link, sizeof(*link));
	netlink_add_text(&batch, IFLA_IFNAME, name);
	netlink_end(&batch, begin);
	if (netlink_socket(&fd, &ignored) == 0)
		(void)!netlink_run(fd, &batch, "change a link", &ignored);
}

void network_link_remove(uint32_t slot)
{
	change_link(slot, RTM_DELLINK, &(const struct ifinfomsg){.ifi_family = AF_UNSPEC});
}

void network_link_stop(uint32_t slot)
{
	change_link(slot, RTM_SETLINK, &(const struct ifinfomsg){.ifi_change = IFF_UP});
}

static int read_counter(uint32_t slot, const char *file, uint64_t *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(64);
	char path[96];
	int64_t value;

	(void)snprintf(path, sizeof(path), "/sys/class/net/atoll%u/statistics/%s", slot, file);
	if (file_read(AT_FDCWD, path, &text, err) < 0)
		return -1;
	if (text.size > 0)
		text.size--; /* the line's end */
	if (span_parse_whole(buf_span(&text), 0, INT64_MAX, &value, err) < 0)
		return -1;
	*ret = (uint64_t)value;
	return 0;
}

bool network_was_used(uint32_t slot, bool otherwise)
{
	struct error ignored = {0};
	uint64_t out;

	return read_counter(slot, "rx_bytes", &out, &ignored) < 0 ? otherwise : out > 0;
}

int network_counters(uint32_t slot, uint64_t *ret_in, uint64_t *ret_out, struct error *err)
{
	/* Packets that the outer end sends enter the sandbox. */
	if (read_counter(slot, "tx_bytes", ret_in, err) < 0)
		return -1;
	return read_counter(slot, "rx_bytes", ret_out, err);
}
