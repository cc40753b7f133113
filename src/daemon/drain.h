/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/drain.h — the api process stops: running calls may finish first. On the loop thread.
 *
 * The first signal to stop makes the server not ready. After the option `drain_delay`, in which a
 * load balancer finds another, it refuses new requests (http/server/drain.h) and gives running ones
 * at most the time of the option `drain`. Then terminals are told, and the loop stops. The second
 * signal stops the loop at once. */
#pragma once

#include "api/api.h"
#include "http/server/http.h"
#include "loop/loop.h"

struct drain {
	struct api *api;
	struct loop_timer timer;
	int64_t until_ms;
	bool are_streams_told;
};
/* Handles a signal to stop. */
void drain_begin(struct drain *d, struct api *api);
void drain_cancel(struct drain *d); /* before the loop closes; also without drain_begin */
