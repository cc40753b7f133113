/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/handover.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"

union handover_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * HANDOVER_FDS)];
};

int handover_send(int fd, const struct handover *h, struct span begun, const int fds[HANDOVER_FDS],
                  struct error *err)
{
	struct handover head = *h;
	struct iovec parts[] = {{&head, sizeof(head)}, {(void *)(uintptr_t)begun.data, begun.size}};
	union handover_control control = {.bytes = {0}};
	struct msghdr message = {.msg_iov = parts,
	                         .msg_iovlen = begun.size > 0 ? 2 : 1,
	                         .msg_control = control.bytes,
	                         .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	head.begun_size = (uint32_t)begun.size;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * HANDOVER_FDS);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * HANDOVER_FDS);
	if (sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return FAIL_ERRNO(err, "hand a connection over");
	return 0;
}

/* Takes the descriptors of a message, of which there may be fewer. */
static unsigned take_fds(struct msghdr *message, int ret_fds[HANDOVER_FDS])
{
	unsigned count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		size_t size = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(int) <= size; at += sizeof(int)) {
			int one;

			memcpy(&one, CMSG_DATA(c) + at, sizeof(one));
			if (count < HANDOVER_FDS)
				ret_fds[count++] = one;
			else
				(void)close(one);
		}
	}
	return count;
}

static bool head_is_sound(const struct handover *h, size_t size)
{
	return size >= sizeof(*h) && h->begun_size == size - sizeof(*h) &&
	       (h->port == HANDOVER_TLS || h->port == HANDOVER_HTTP) &&
	       memchr(h->sandbox, '\0', sizeof(h->sandbox)) &&
	       memchr(h->host, '\0', sizeof(h->host)) && id_is_valid(h->sandbox) &&
	       host_name_is_valid(span_of(h->host));
}

int handover_receive(int fd, struct handover *ret, struct buf *begun, int ret_fds[HANDOVER_FDS],
                     struct error *err)
{
	int fds[HANDOVER_FDS] = {-1, -1, -1};
	struct handover head = {.begun_size = 0};
	char *room;
	ssize_t got;

	buf_reset(begun);
	room = buf_reserve(begun, LOOK_BYTES_MAX);
	if (!room)
		return FAIL(err, ERROR_TOO_LARGE, "no room for a connection's first bytes");
	struct iovec parts[] = {{&head, sizeof(head)}, {room, LOOK_BYTES_MAX}};
	union handover_control control;
	struct msghdr message = {.msg_iov = parts,
	                         .msg_iovlen = 2,
	                         .msg_control = control.bytes,
	                         .msg_controllen = sizeof(control.bytes)};

	got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got < 0)
		return FAIL_ERRNO(err, "take a connection over");
	if (take_fds(&message, fds) == HANDOVER_FDS && head_is_sound(&head, (size_t)got)) {
		buf_commit(begun, head.begun_size);
		*ret = head;
		memcpy(ret_fds, fds, sizeof(fds));
		return 1;
	}
	for (unsigned i = 0; i < HANDOVER_FDS; i++)
		auto_close(&fds[i]);
	return FAIL(err, ERROR_INVALID, "a connection that was handed over is malformed");
}
