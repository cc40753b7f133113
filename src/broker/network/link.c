/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/network/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>

#include "base/fd.h"
#include "broker/network/network.h"
#include "netlink/netlink.h"
#include "wire/launch.h"

#define BATCH_MAX 256

/* The address has link scope, so the host does not use it as a source for other packets. */
int network_link_answer(uint32_t slot, struct error *err)
{
	AUTO(buf_done) struct buf batch = BUF(BATCH_MAX);
	struct ifaddrmsg own = {.ifa_family = AF_INET,
	                        .ifa_prefixlen = 32,
	                        .ifa_scope = RT_SCOPE_LINK,
	                        .ifa_index = LAUNCH_LINK_INDEX_FIRST + slot};
	AUTO_CLOSE int fd = -1;
	size_t begin =
	        netlink_begin(&batch, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &own, sizeof(own));

	netlink_add_u32(&batch, IFA_LOCAL, htonl(LAUNCH_GATEWAY));
	netlink_add_u32(&batch, IFA_ADDRESS, htonl(LAUNCH_GATEWAY));
	netlink_end(&batch, begin);
	return netlink_socket(&fd, err) < 0
	               ? -1
	               : netlink_run(fd, &batch, "give a link its address", err);
}

static int write_option(uint32_t slot, const char *family, const char *option, struct error *err)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/" LAUNCH_LINK "/%s", family, slot,
	               option);
	if (file_poke(AT_FDCWD, path, "1", err) < 0) {
		if (err->sys_errno != ENOENT)
			return -1;
		error_clear(err);
	}
	return 0;
}

int network_link_forward4(uint32_t slot, struct error *err)
{
	return write_option(slot, "ipv4", "forwarding", err);
}

int network_link_forward6(uint32_t slot, struct error *err)
{
	return write_option(slot, "ipv6", "force_forwarding", err);
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

void network_link_clear(uint32_t slot)
{
	char name[NETWORK_LINK_SIZE];

	network_link_name(slot, name);
	if (if_nametoindex(name))
		network_link_remove(slot);
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

	(void)snprintf(path, sizeof(path), "/sys/class/net/" LAUNCH_LINK "/statistics/%s", slot,
	               file);
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
