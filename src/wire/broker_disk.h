/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_disk.h — what keeps sandboxes from filling the disk, and what the watch of it has
 * done: a part of wire/broker.h. The broker sends it after each BROKER_WELCOME and whenever it
 * changes. */
#pragma once

#include "wire/wire.h"

struct broker_disk {
	uint64_t request;        /* 0 */
	const char *enforcement; /* "project", "image", "watch" or "off" */
	/* Of the watch: sandboxes that it looks at, and of these those over their limit now; since
	 * the broker's start how many it has paused and counted, and how long all counts took. */
	uint64_t watched, over, paused_total, counts_total, counting_us_total;
};

extern const struct wire_member broker_disk_shape[];
