/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_SIZE 4096
#define STALE_MAX 8 /* answers to earlier questions */

struct route_question {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr attribute;
	uint32_t address;
};

int route_open(int *ret_fd, struct error *err)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return FAIL_ERRNO(err, "open a netlink socket");
	*ret_fd = fd;
	return 0;
}

/* The kernel answers within the call that asks. */
static bool route_is_remote(int fd, uint32_t number, bool may_lack)
{
	char data[ANSWER_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *head = (void *)data;

	for (unsigned i = 0; i < STALE_MAX; i++) {
		ssize_t got = recv(fd, data, sizeof(data), MSG_DONTWAIT);

		if (got < (ssize_t)sizeof(*head))
			return false;
		if (head->nlmsg_seq != number)
			continue;
		if (head->nlmsg_type == NLMSG_ERROR &&
		    got >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)))
			return may_lack &&
			       ((const struct nlmsgerr *)NLMSG_DATA(head))->error == -ENETUNREACH;
		return head->nlmsg_type == RTM_NEWROUTE &&
		       got >= (ssize_t)NLMSG_LENGTH(sizeof(struct rtmsg)) &&
		       ((const struct rtmsg *)NLMSG_DATA(head))->rtm_type == RTN_UNICAST;
	}
	return false;
}

static uint32_t next_number(void)
{
	static uint32_t number;

	return ++number;
}

bool route_leads_out6(int fd, const struct address6 *address)
{
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		struct rtattr attribute;
		struct address6 address;
	} asked = {.head = {.nlmsg_len = sizeof(asked),
	                    .nlmsg_type = RTM_GETROUTE,
	                    .nlmsg_flags = NLM_F_REQUEST,
	                    .nlmsg_seq = next_number()},
	           .route = {.rtm_family = AF_INET6, .rtm_dst_len = 128},
	           .attribute = {.rta_len = RTA_LENGTH(sizeof(*address)), .rta_type = RTA_DST},
	           .address = *address};

	return send(fd, &asked, sizeof(asked), MSG_DONTWAIT) == sizeof(asked) &&
	       route_is_remote(fd, asked.head.nlmsg_seq, false);
}

bool route_leads_out(int fd, uint32_t address, bool may_lack)
{
	const uint32_t number = next_number();
	const struct route_question asked = {
	        .head = {.nlmsg_len = sizeof(asked),
	                 .nlmsg_type = RTM_GETROUTE,
	                 .nlmsg_flags = NLM_F_REQUEST,
	                 .nlmsg_seq = number},
	        .route = {.rtm_family = AF_INET, .rtm_dst_len = 32},
	        .attribute = {.rta_len = RTA_LENGTH(sizeof(address)), .rta_type = RTA_DST},
	        .address = htonl(address)};

	return send(fd, &asked, sizeof(asked), MSG_DONTWAIT) == sizeof(asked) &&
	       route_is_remote(fd, number, may_lack);
}
