/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_probe.h — a sandbox that the broker makes and ends at once, to check whether
 * sandboxes can be made: part of wire/broker.h.
 *
 * The broker chooses the id of a probe. The prefix marks it in run folders and in the folder of
 * files, so that a restarted broker removes leftovers. BROKER_LIST omits it; a BROKER_CREATE with
 * such an id is refused. */
#pragma once

#include "wire/wire.h"

#define BROKER_PROBE_PREFIX "readyprobe" /* the rest of the id is random */

struct broker_probe {
	uint64_t request;
	uint32_t kind;      /* enum broker_kind */
	uint32_t network;   /* as of broker_create */
	const char *egress; /* as in broker_create */
};

extern const struct wire_member broker_probe_shape[];
