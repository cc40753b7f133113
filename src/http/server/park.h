/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/park.h — the server's parked requests; see parked.h. Belongs to the loop thread,
 * except `woken` and `count`, which are atomic. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/list.h"
#include "http/server/parked.h"
#include "loop/loop.h"

#define PARK_BUCKETS 1024

struct http_exchange;
struct park {
	struct parked_limits limits;
	struct parked_counts counts;
	struct list waiting;     /* items are http_exchange.park_item */
	struct loop_timer timer; /* runs while a request is parked */
	atomic_uint count;       /* items of `waiting` */
	/* Monotonic ns of the last announcement of the keys in each bucket. It catches a change
	 * that is announced after the handler checked and before its request is parked. */
	atomic_int_fast64_t woken[PARK_BUCKETS];
};
/* Makes server->park. */
void park_open(struct http_server *server);
void park_close(struct http_server *server);
/* Parks an exchange whose handler awaits a change, or whose undo found no worker. False when too
 * many are parked or it has waited too long: then its error is the answer. */
bool park_add(struct http_server *server, struct http_exchange *ex);
void park_remove(struct http_exchange *ex); /* no effect when it is not parked */
/* Reruns the exchanges whose change was announced. */
void park_look(struct http_server *server);
