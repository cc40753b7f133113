/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/wire.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/fd.h"

#define PACKET_MAX (WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX)

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(sizeof(int) * WIRE_FDS_MAX)];
};

static int refuse_late(short events, struct error *err)
{
	return FAIL(err, ERROR_TIMEOUT, "peer did not %s in time",
	            events == POLLIN ? "answer" : "take what was sent");
}

static int wait_for_socket(int fd, short events, int64_t deadline, struct error *err)
{
	int ready = fd_wait(fd, events, deadline, err);

	if (ready == 0)
		return refuse_late(events, err);
	return ready < 0 ? -1 : 0;
}

static int wait_for_peer(const struct wire_peer *peer, short events, struct error *err)
{
	int ready = cancel_wait(peer->cancel, peer->fd, events, peer->deadline, err);

	if (ready == 0)
		return refuse_late(events, err);
	return ready < 0 ? -1 : 0;
}

/* Called before every system call, not only before those that have to wait: a peer that always has
 * bytes ready would otherwise never meet the clock. */
static int check_patience(const struct wire_peer *peer, short events, struct error *err)
{
	if (cancel_is_said(peer->cancel))
		return FAIL(err, ERROR_UNAVAILABLE, "the call was cancelled");
	if (deadline_poll_ms(peer->deadline) == 0)
		return refuse_late(events, err);
	return 0;
}

int wire_send_to(const struct wire_peer *peer, struct span frames, struct error *err)
{
	while (frames.size) {
		ssize_t sent =
		        send(peer->fd, frames.data, frames.size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent >= 0) {
			span_skip(&frames, (size_t)sent);
			if (frames.size && check_patience(peer, POLLOUT, err) < 0)
				return -1;
		} else if (errno == EAGAIN) {
			if (wait_for_peer(peer, POLLOUT, err) < 0)
				return -1;
		} else if (errno == EPIPE || errno == ECONNRESET) {
			return FAIL(err, ERROR_UNAVAILABLE, "peer closed");
		} else if (errno != EINTR) {
			return FAIL_ERRNO(err, "send");
		}
	}
	return 0;
}

int wire_send(int fd, struct span frames, int64_t deadline, struct error *err)
{
	return wire_send_to(&(struct wire_peer){.fd = fd, .deadline = deadline}, frames, err);
}

/* *ret_size is what came before the end of file, which is no failure here. */
static int receive_bytes(const struct wire_peer *peer, void *data, size_t size, size_t *ret_size,
                         struct error *err)
{
	size_t at = 0;

	while (at < size) {
		if (check_patience(peer, POLLIN, err) < 0)
			return -1;
		ssize_t got = recv(peer->fd, (char *)data + at, size - at, MSG_DONTWAIT);

		if (got > 0) {
			at += (size_t)got;
		} else if (got == 0 || errno == ECONNRESET) {
			break;
		} else if (errno == EAGAIN) {
			if (wait_for_peer(peer, POLLIN, err) < 0)
				return -1;
		} else if (errno != EINTR) {
			return FAIL_ERRNO(err, "receive");
		}
	}
	*ret_size = at;
	return 0;
}

/* A frame of which the head's first `got` bytes are there. */
struct incoming {
	const struct wire_peer *peer;
	unsigned char head[WIRE_HEAD_SIZE];
	size_t got; /* of the head */
};

/* The rest of a frame. */
static int receive_rest(struct incoming *in, uint16_t *ret_type, struct buf *payload,
                        struct error *err)
{
	struct span bytes = {(const char *)in->head, sizeof(in->head)}, none;
	size_t got, need;
	uint16_t type = 0;
	char *at;
	int whole;

	buf_reset(payload);
	if (receive_bytes(in->peer, in->head + in->got, sizeof(in->head) - in->got, &got, err) < 0)
		return -1;
	in->got += got;
	if (in->got < sizeof(in->head))
		return FAIL(err, ERROR_UNAVAILABLE,
		            in->got ? "peer closed in the middle of a frame" : "peer closed");
	whole = wire_next(&bytes, &type, &none, &need, err);
	if (whole < 0)
		return -1;
	if (whole) {
		*ret_type = type;
		return 0;
	}
	at = buf_reserve(payload, need);
	if (!at)
		return FAIL(err, ERROR_TOO_LARGE, "frame of %zu bytes where at most %zu are taken",
		            need, payload->size_max);
	if (receive_bytes(in->peer, at, need, &got, err) < 0)
		return -1;
	if (got < need)
		return FAIL(err, ERROR_UNAVAILABLE, "peer closed in the middle of a frame");
	buf_commit(payload, need);
	*ret_type = (uint16_t)(in->head[4] | in->head[5] << 8);
	return 0;
}

int wire_receive_from(const struct wire_peer *peer, uint16_t *ret_type, struct buf *payload,
                      struct error *err)
{
	struct incoming in = {.peer = peer};

	return receive_rest(&in, ret_type, payload, err);
}

int wire_receive(int fd, int64_t deadline, uint16_t *ret_type, struct buf *payload,
                 struct error *err)
{
	return wire_receive_from(&(struct wire_peer){.fd = fd, .deadline = deadline}, ret_type,
	                         payload, err);
}

void wire_fds_close(struct wire_fds *fds)
{
	for (unsigned i = 0; i < fds->count; i++)
		(void)close(fds->fds[i]);
	fds->count = 0;
}

static void put_fds(struct msghdr *message, union control *control, const struct wire_fds *fds)
{
	struct cmsghdr *item = &control->align;
	size_t size = sizeof(int) * fds->count;

	assert(fds->count <= WIRE_FDS_MAX);
	message->msg_control = control;
	message->msg_controllen = CMSG_SPACE(size);
	item->cmsg_level = SOL_SOCKET;
	item->cmsg_type = SCM_RIGHTS;
	item->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(item), fds->fds, size);
}

int wire_send_packet(int fd, struct span frame, const struct wire_fds *fds, int64_t deadline,
                     struct error *err)
{
	union control control = {0};
	struct iovec data = {(void *)(uintptr_t)frame.data, frame.size};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	if (fds && fds->count)
		put_fds(&message, &control, fds);
	while (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		if (errno == EPIPE || errno == ECONNRESET)
			return FAIL(err, ERROR_UNAVAILABLE, "peer closed");
		if (errno == EAGAIN && wait_for_socket(fd, POLLOUT, deadline, err) < 0)
			return -1;
		if (errno != EAGAIN && errno != EINTR)
			return FAIL_ERRNO(err, "send a packet of %zu bytes", frame.size);
	}
	return 0;
}

/* Size of the packet that waits; 0 at the end of the stream. */
static int peek_size(int fd, int64_t deadline, size_t *ret, struct error *err)
{
	for (;;) {
		ssize_t size = recv(fd, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);

		if (size >= 0) {
			*ret = (size_t)size;
			return 0;
		}
		if (errno == ECONNRESET) {
			*ret = 0;
			return 0;
		}
		if (errno == EAGAIN && wait_for_socket(fd, POLLIN, deadline, err) < 0)
			return -1;
		if (errno != EAGAIN && errno != EINTR)
			return FAIL_ERRNO(err, "receive a packet");
	}
}

static void collect_fds(struct msghdr *message, struct wire_fds *fds)
{
	struct cmsghdr *item;

	for (item = CMSG_FIRSTHDR(message); item; item = CMSG_NXTHDR(message, item)) {
		size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS)
			continue;
		/* The control buffer has room for WIRE_FDS_MAX in all. */
		assert(fds->count + count <= WIRE_FDS_MAX);
		memcpy(fds->fds + fds->count, CMSG_DATA(item), sizeof(int) * count);
		fds->count += (unsigned)count;
	}
}

/* The descriptor that came with the first bytes of a frame; at most one. */
static int receive_first(struct incoming *in, struct wire_fds *ret_fds, struct error *err)
{
	union control control;
	struct iovec data = {in->head, sizeof(in->head)};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
	ssize_t got;

	for (;;) {
		if (check_patience(in->peer, POLLIN, err) < 0)
			return -1;
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		got = recvmsg(in->peer->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		if (got >= 0 || errno == ECONNRESET)
			break;
		if (errno == EAGAIN && wait_for_peer(in->peer, POLLIN, err) < 0)
			return -1;
		if (errno != EAGAIN && errno != EINTR)
			return FAIL_ERRNO(err, "receive");
	}
	if (got <= 0)
		return FAIL(err, ERROR_UNAVAILABLE, "peer closed");
	in->got = (size_t)got;
	collect_fds(&message, ret_fds);
	if (ret_fds->count <= 1 && !(message.msg_flags & MSG_CTRUNC))
		return 0;
	wire_fds_close(ret_fds);
	return FAIL(err, ERROR_INVALID, "a frame came with too many descriptors");
}

int wire_receive_with_fd(const struct wire_peer *peer, uint16_t *ret_type, struct buf *payload,
                         int *ret_fd, struct error *err)
{
	struct incoming in = {.peer = peer};
	struct wire_fds fds = {.count = 0};

	if (receive_first(&in, &fds, err) < 0)
		return -1;
	if (receive_rest(&in, ret_type, payload, err) < 0) {
		wire_fds_close(&fds);
		return -1;
	}
	*ret_fd = fds.count ? fds.fds[0] : -1;
	return 0;
}

int wire_send_with_fd(int socket, struct span frame, int fd, struct error *err)
{
	const struct wire_fds fds = {.fds = {fd}, .count = 1};
	union control control = {0};
	struct iovec data = {(void *)(uintptr_t)frame.data, frame.size};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
	ssize_t sent;

	put_fds(&message, &control, &fds);
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent == (ssize_t)frame.size)
		return 0;
	if (sent >= 0 || errno == EAGAIN)
		return FAIL(err, ERROR_UNAVAILABLE, "the socket is full");
	return FAIL_ERRNO(err, "send a descriptor");
}

int wire_receive_packet(int fd, int64_t deadline, struct buf *packet, struct wire_fds *ret_fds,
                        struct error *err)
{
	union control control;
	struct iovec data;
	struct msghdr message = {.msg_iov = &data,
	                         .msg_iovlen = 1,
	                         .msg_control = &control,
	                         .msg_controllen = sizeof(control)};
	struct wire_fds fds = {.count = 0};
	size_t size;
	ssize_t got;
	char *at;

	buf_reset(packet);
	if (peek_size(fd, deadline, &size, err) < 0)
		return -1;
	if (size == 0)
		return FAIL(err, ERROR_UNAVAILABLE, "peer closed");
	at = size > PACKET_MAX ? NULL : buf_reserve(packet, size);
	if (!at)
		return FAIL(err, ERROR_TOO_LARGE, "packet of %zu bytes", size);
	data = (struct iovec){at, size};
	do
		got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return FAIL_ERRNO(err, "receive a packet");
	collect_fds(&message, &fds);
	if (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC) || (fds.count && !ret_fds)) {
		wire_fds_close(&fds);
		return FAIL(err, ERROR_INVALID, "packet came with too many descriptors");
	}
	buf_commit(packet, (size_t)got);
	if (ret_fds)
		*ret_fds = fds;
	return 0;
}
