/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/outflow.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "http/tls/tls.h"

/* Pieces of at least this size get their own system call. */
#define DIRECT_MIN ((size_t)16 * 1024)
/* Far above the limits of back-pressure; only a reply that was built as a whole gets close. */
#define QUEUE_MAX ((size_t)160 * 1024 * 1024)

void outflow_init(struct outflow *out)
{
	*out = (struct outflow){.queue = BUF(QUEUE_MAX)};
}

void outflow_done(struct outflow *out)
{
	buf_done(&out->queue);
	out->queue_sent = 0;
}

/* Each call makes a TLS record. */
static ssize_t send_by_tls(struct tls *tls, const struct iovec *pieces, unsigned count)
{
	size_t sent = 0;

	for (unsigned i = 0; i < count; i++) {
		size_t done = 0;

		while (done < pieces[i].iov_len) {
			ssize_t result = tls_send(tls, (const char *)pieces[i].iov_base + done,
			                          pieces[i].iov_len - done);

			if (result < 0)
				return sent + done > 0 ? (ssize_t)(sent + done) : -1;
			done += (size_t)result;
		}
		sent += done;
	}
	return (ssize_t)sent;
}

/* Sends as much as the socket takes; returns how much that was. */
static size_t send_queued(struct outflow *out, int fd, struct iovec *pieces, unsigned count)
{
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};
	ssize_t sent;

	do
		sent = out->tls ? send_by_tls(out->tls, pieces, count)
		                : sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0) {
		out->sent += (uint64_t)sent;
		return (size_t)sent;
	}
	out->blocked = errno == EAGAIN || errno == EWOULDBLOCK;
	out->broken |= !out->blocked;
	return 0;
}

static struct iovec piece_of(struct span s)
{
	return (struct iovec){.iov_base = (void *)(uintptr_t)s.data, .iov_len = s.size};
}

static struct span queued_bytes(const struct outflow *out)
{
	return (struct span){out->queue.data + out->queue_sent, outflow_size(out)};
}

static void drop_sent(struct outflow *out, size_t size)
{
	out->queue_sent += size;
	if (out->queue_sent == out->queue.size) {
		outflow_done(out);
	} else if (out->queue_sent > out->queue.size / 2) {
		buf_consume(&out->queue, out->queue_sent);
		out->queue_sent = 0;
	}
}

void outflow_flush(struct outflow *out, int fd)
{
	while (outflow_size(out) && !out->blocked && !out->broken) {
		struct iovec piece = piece_of(queued_bytes(out));

		drop_sent(out, send_queued(out, fd, &piece, 1));
	}
}

static void enqueue_bytes(struct outflow *out, struct span s)
{
	buf_add_span(&out->queue, s);
	out->broken |= out->queue.overflowed;
}

/* Sends the queue and the parts in one call, and queues the rest. */
static void send_parts(struct outflow *out, int fd, const struct span *parts, unsigned count)
{
	struct iovec pieces[1 + OUTFLOW_PARTS_MAX];
	unsigned used = 0;
	size_t sent, from_queue, queued = outflow_size(out);

	if (queued)
		pieces[used++] = piece_of(queued_bytes(out));
	for (unsigned i = 0; i < count; i++)
		pieces[used++] = piece_of(parts[i]);
	sent = send_queued(out, fd, pieces, used);
	from_queue = sent < queued ? sent : queued;
	if (from_queue)
		drop_sent(out, from_queue);
	sent -= from_queue;
	for (unsigned i = 0; i < count; i++) {
		size_t whole = sent < parts[i].size ? sent : parts[i].size;

		sent -= whole;
		if (whole < parts[i].size)
			enqueue_bytes(out,
			              (struct span){parts[i].data + whole, parts[i].size - whole});
	}
}

void outflow_write(struct outflow *out, int fd, const struct span *parts, unsigned count)
{
	size_t size = outflow_size(out);

	assert(count <= OUTFLOW_PARTS_MAX);
	if (out->broken)
		return;
	for (unsigned i = 0; i < count; i++)
		size += parts[i].size;
	/* Not with TLS, where small pieces beside a large one would become records of their own. */
	if (size >= DIRECT_MIN && !out->blocked && !out->tls) {
		send_parts(out, fd, parts, count);
		return;
	}
	for (unsigned i = 0; i < count; i++)
		enqueue_bytes(out, parts[i]);
}
