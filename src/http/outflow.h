/* SPDX-License-Identifier: Apache-2.0 */
/* http/outflow.h — bytes on their way into a non-blocking socket.
 *
 * What the socket does not take at once waits in a queue, which is freed as soon as it is empty, so
 * that an idle stream holds no memory. Small pieces are collected until outflow_flush, large ones
 * go straight from the caller's memory to the socket. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"

struct tls;
struct outflow {
	struct buf queue;
	size_t queue_sent; /* of the queue's head */
	uint64_t sent;     /* bytes in all */
	struct tls *tls;   /* between the queue and the socket; NULL: nothing is */
	bool blocked;      /* the socket is full: wait for EPOLLOUT, then flush */
	bool broken;       /* the socket failed, or the queue grew past its limit: give up */
};

void outflow_init(struct outflow *out);
void outflow_done(struct outflow *out);
static inline size_t outflow_size(const struct outflow *out)
{
	return out->queue.size - out->queue_sent;
}
/* Up to OUTFLOW_PARTS_MAX pieces that belong together. */
#define OUTFLOW_PARTS_MAX 3
void outflow_write(struct outflow *out, int fd, const struct span *parts, unsigned count);
/* Sends what waits; look at `blocked` and `broken` afterwards. */
void outflow_flush(struct outflow *out, int fd);
/* EPOLLOUT came. */
static inline void outflow_ready(struct outflow *out, int fd)
{
	out->blocked = false;
	outflow_flush(out, fd);
}
