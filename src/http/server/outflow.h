/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/outflow.h — the output queue of a non-blocking socket.
 *
 * Bytes that the socket does not accept at once are queued. The queue is freed when it is empty, so
 * an idle stream holds no memory. Small pieces are collected until outflow_flush; large pieces go
 * directly from the caller's memory to the socket. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct tls;
struct outflow {
	struct buf queue;
	size_t queue_sent; /* bytes of the queue already sent */
	uint64_t sent;     /* total bytes sent */
	struct tls *tls;   /* TLS layer, or NULL */
	bool blocked;      /* the socket is full: wait for EPOLLOUT, then flush */
	bool broken;       /* the socket failed, or the queue grew past its limit: give up */
};

void outflow_init(struct outflow *out);
void outflow_done(struct outflow *out);
static inline size_t outflow_size(const struct outflow *out)
{
	return out->queue.size - out->queue_sent;
}
/* Writes up to OUTFLOW_PARTS_MAX pieces that belong together. */
#define OUTFLOW_PARTS_MAX 3
void outflow_write(struct outflow *out, int fd, const struct span *parts, unsigned count);
/* Sends queued bytes; check `blocked` and `broken` afterwards. */
void outflow_flush(struct outflow *out, int fd);
/* Call it on EPOLLOUT. */
static inline void outflow_ready(struct outflow *out, int fd)
{
	out->blocked = false;
	outflow_flush(out, fd);
}
