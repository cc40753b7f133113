/* SPDX-License-Identifier: Apache-2.0 */
/* http/park.h — the server's parked requests; see parked.h. Private to this folder. Belongs to the
 * loop thread, but for `woken` and `count`, which any thread uses. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "http/parked.h"
#include "loop/loop.h"

#define PARK_BUCKETS 1024

struct http_exchange;
struct park {
	struct parked_limits limits;
	struct parked_counts counts;
	struct list waiting;     /* of http_exchange.park_item */
	struct loop_timer timer; /* runs while anything waits */
	atomic_uint count;       /* of `waiting` */
	/* Monotonic ns of the last announcement of the keys that share a bucket: a change that is
	 * announced after a handler has looked, and before its request is parked, is not missed. */
	atomic_int_fast64_t woken[PARK_BUCKETS];
};
void park_init(struct http_server *server);
void park_done(struct http_server *server);
/* Takes the exchange of a connection whose handler awaits a change, or whose undo found no worker.
 * False when there are too many, or it has waited for too long: then its error is the answer. */
bool park_add(struct http_server *server, struct http_exchange *ex);
void park_remove(struct http_exchange *ex); /* fine when it is not parked */
/* Something was announced: runs again what waited for it. */
void park_look(struct http_server *server);
