/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/request_queue.h — requests that wait in a queue for a place, without a thread. Loop
 * thread.
 *
 * When the key already runs as many requests as it may, authorize or a handler calls
 * request_wait_in_queue, which names the queue. The request holds its connection and no thread;
 * usually its body has not been read yet. server_advance_queue tries the first request of the queue
 * again. A request is refused with its original error when it has waited too long, and at once when
 * the queue is full. A client that hangs up leaves the queue. */
#pragma once

#include <stdbool.h>

#include "base/list.h"
#include "base/map.h"
#include "http/server/shares.h"
#include "loop/loop.h"

struct http_exchange;
struct request_queues {
	struct map queues;       /* request_queue by name; only queues with waiting requests */
	struct list queue_items; /* the same queues as a list */
	struct loop_timer timer; /* runs while a request waits */
	struct queue_counts counts;
};
/* Makes server->queues. */
void request_queues_open(struct http_server *server);
void request_queues_close(struct http_server *server);
/* Adds the exchange to the queue ex->queue_name. False when that queue is full. */
bool request_queues_add(struct http_server *server, struct http_exchange *ex);
void request_queues_remove(struct http_server *server,
                           struct http_exchange *ex); /* no effect when it does not wait */
