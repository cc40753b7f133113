/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_disk.h — how disk limits are enforced, and counters of the disk watch: part of
 * wire/broker.h. The broker sends it after each BROKER_WELCOME and whenever it changes. */
#pragma once

#include "wire/wire.h"

struct broker_disk {
	uint64_t request;        /* 0 */
	const char *enforcement; /* "project", "image", "watch" or "off" */
	/* Of the disk watch: sandboxes it watches, and those over their limit now. The totals count
	 * from the broker's start: pauses, measurements, and the time of all measurements. */
	uint64_t watched, over, paused_total, counts_total, counting_us_total;
};

extern const struct wire_member broker_disk_shape[];
