/* SPDX-License-Identifier: Apache-2.0 */
/* http/turns.h — requests that wait for their turn in a queue, without a thread. Private to this
 * folder. Belongs to the loop thread.
 *
 * authorize, or a handler, finds that as many requests of a key run as may: it calls
 * request_wait_turn, which names the queue. The request holds its connection and nothing else, and
 * mostly its body has not been read yet. When server_turn tells that a place is free, the first of
 * the queue is tried again. It is refused with what it failed with when it has waited for too long,
 * and at once when the queue is full. A client that hangs up leaves the queue. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "http/shares.h"
#include "loop/loop.h"

struct http_exchange;
struct turns {
	struct map queues;       /* turn_queue, by name; only those in which a request waits */
	struct list queue_items; /* the same */
	struct loop_timer timer; /* runs while any request waits */
	struct turn_counts counts;
};
void turns_init(struct http_server *server);
void turns_done(struct http_server *server);
/* Takes the exchange of a connection, for ex->turn_queue. False when that queue is full. */
bool turns_add(struct http_server *server, struct http_exchange *ex);
void turns_remove(struct http_server *server,
                  struct http_exchange *ex); /* fine when it does not wait */
