/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "netlink/netlink.h"

#define BUFFER_SIZE (1 << 20)
#define PACKET_BYTES 64 /* of a packet: its IP header and the ports */
/* A group belongs to one socket of the host, and each server needs one. */
#define GROUP_FIRST 21000
#define GROUPS_MAX 256

/* One message binds the group and says how much of each packet is wanted. */
static int bind_group(int fd, unsigned group, struct error *err)
{
	const struct nfgenmsg fixed = {.version = NFNETLINK_V0, .res_id = htons((uint16_t)group)};
	const struct nfulnl_msg_config_cmd command = {.command = NFULNL_CFG_CMD_BIND};
	const struct nfulnl_msg_config_mode mode = {.copy_range = htonl(PACKET_BYTES),
	                                            .copy_mode = NFULNL_COPY_PACKET};
	AUTO(buf_done) struct buf message = BUF(256);
	size_t begin = netlink_begin(&message, NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG, 0, &fixed,
	                             sizeof(fixed));

	netlink_add(&message, NFULA_CFG_CMD, &command, sizeof(command));
	netlink_add(&message, NFULA_CFG_MODE, &mode, sizeof(mode));
	netlink_end(&message, begin);
	return netlink_run(fd, &message, "open the kernel's log of packets", err);
}

static int open_kernel_log(struct report_ways *w, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	const int size = BUFFER_SIZE;

	if (netlink_open_socket(NETLINK_NETFILTER, 0, &fd, err) < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	for (unsigned group = GROUP_FIRST; group < GROUP_FIRST + GROUPS_MAX; group++) {
		error_clear(err);
		if (bind_group(fd, group, err) == 0) {
			w->kernel_fd = TAKE_FD(fd);
			w->group = group;
			return 0;
		}
		/* EPERM: another process has the group, or this one may have none. */
		if (err->sys_errno != EBUSY && err->sys_errno != EPERM)
			return -1;
	}
	return -1;
}

int report_ways_open(struct report_ways *ret, struct error *err)
{
	const int size = BUFFER_SIZE;
	int fds[2];

	*ret = REPORT_WAYS_CLOSED;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return FAIL_ERRNO(err, "make a way for reports of decisions");
	(void)setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	ret->gateway_fd = fds[0];
	ret->server_fd = fds[1];
	return open_kernel_log(ret, err);
}

void report_ways_close(struct report_ways *w)
{
	auto_close(&w->gateway_fd);
	auto_close(&w->server_fd);
	auto_close(&w->kernel_fd);
	*w = REPORT_WAYS_CLOSED;
}
