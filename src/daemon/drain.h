/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/drain.h — the end of the api process that ends the calls which run. Private to this
 * folder; on the loop thread.
 *
 * The first signal to stop refuses new requests (http/drain.h) and lets those that run end, for the
 * option `drain` at most; then terminals are told, and the loop stops. The second signal stops it
 * at once. */
#pragma once

#include "api/api.h"

struct drain {
	struct api *api;
	struct loop_timer timer;
	int64_t until_ms;
	bool are_streams_told;
};
/* A signal to stop has come. */
void drain_begin(struct drain *d, struct api *api);
void drain_cancel(struct drain *d); /* before the loop closes; one that never began is fine */
