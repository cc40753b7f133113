/* SPDX-License-Identifier: Apache-2.0 */
#include "netlink/netlink.h"

#include <errno.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#define RECEIVE_MAX 32768

static void pad_batch(struct buf *batch)
{
	static const char zeros[NLMSG_ALIGNTO];

	buf_add(batch, zeros, NLMSG_ALIGN(batch->size) - batch->size);
}

size_t netlink_begin(struct buf *batch, uint16_t type, uint16_t flags, const void *fixed,
                     size_t fixed_size)
{
	struct nlmsghdr head = {.nlmsg_type = type,
	                        .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags)};
	size_t begin = batch->size;

	buf_add(batch, &head, sizeof(head));
	buf_add(batch, fixed, fixed_size);
	pad_batch(batch);
	return begin;
}

void netlink_end(struct buf *batch, size_t begin)
{
	uint32_t size = (uint32_t)(batch->size - begin);

	if (!batch->overflowed)
		memcpy(batch->data + begin + offsetof(struct nlmsghdr, nlmsg_len), &size,
		       sizeof(size));
}

void netlink_add(struct buf *batch, uint16_t type, const void *data, size_t size)
{
	struct rtattr head = {.rta_len = (unsigned short)RTA_LENGTH(size), .rta_type = type};

	buf_add(batch, &head, sizeof(head));
	buf_add(batch, data, size);
	pad_batch(batch);
}

void netlink_add_u32(struct buf *batch, uint16_t type, uint32_t value)
{
	netlink_add(batch, type, &value, sizeof(value));
}

void netlink_add_text(struct buf *batch, uint16_t type, const char *text)
{
	netlink_add(batch, type, text, strlen(text) + 1);
}

size_t netlink_open(struct buf *batch, uint16_t type)
{
	size_t open = batch->size;

	netlink_add(batch, type, NULL, 0);
	return open;
}

void netlink_close(struct buf *batch, size_t open)
{
	unsigned short size = (unsigned short)(batch->size - open);

	if (!batch->overflowed)
		memcpy(batch->data + open + offsetof(struct rtattr, rta_len), &size, sizeof(size));
}

struct span netlink_find(struct span attributes, uint16_t type)
{
	struct rtattr *attribute = (void *)(uintptr_t)attributes.data;
	int left = attributes.size <= INT_MAX ? (int)attributes.size : 0;

	/* Below zero after a last attribute that is not padded. */
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
		if ((attribute->rta_type & NLA_TYPE_MASK) == type)
			return (struct span){RTA_DATA(attribute), RTA_PAYLOAD(attribute)};
	return (struct span){NULL, 0};
}

int netlink_open_socket(int protocol, int flags, int *ret_fd, struct error *err)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, protocol);

	if (fd < 0)
		return FAIL_ERRNO(err, "open a netlink socket");
	*ret_fd = fd;
	return 0;
}

int netlink_socket(int *ret_fd, struct error *err)
{
	return netlink_open_socket(NETLINK_ROUTE, 0, ret_fd, err);
}

static unsigned count_messages(const struct buf *batch)
{
	unsigned count = 0, left = (unsigned)batch->size;
	struct nlmsghdr *head = (void *)batch->data;

	for (; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left))
		count++;
	return count;
}

/* Answers in one datagram: how many, and the first failure as a positive errno. */
static void read_answers(char *data, size_t size, unsigned *count, int *failure)
{
	unsigned left = (unsigned)size;
	struct nlmsghdr *head = (void *)data;

	for (; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
		const struct nlmsgerr *answer = NLMSG_DATA(head);

		if (head->nlmsg_type != NLMSG_ERROR)
			continue;
		(*count)++;
		if (answer->error < 0 && *failure == 0)
			*failure = -answer->error;
	}
}

int netlink_run(int fd, const struct buf *batch, const char *what, struct error *err)
{
	unsigned wanted, count = 0;
	int failure = 0;

	if (batch->overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "%s: netlink batch is too large", what);
	wanted = count_messages(batch);
	if (send(fd, batch->data, batch->size, 0) < 0)
		return FAIL_ERRNO(err, "%s: send a netlink batch", what);
	while (count < wanted) {
		char data[RECEIVE_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
		ssize_t got = recv(fd, data, sizeof(data), 0);

		if (got < 0 && errno != EINTR)
			return FAIL_ERRNO(err, "%s: receive from netlink", what);
		if (got > 0)
			read_answers(data, (size_t)got, &count, &failure);
	}
	errno = failure;
	return failure ? FAIL_ERRNO(err, "%s", what) : 0;
}
