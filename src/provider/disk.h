/* SPDX-License-Identifier: Apache-2.0 */
/* provider/disk.h — what the broker said last of the disk limits on this host (wire/broker_disk.h).
 * One value of this process, for the metrics. Any thread may call. */
#pragma once

#include <stdint.h>

#define DISK_ENFORCEMENT_SIZE 16

struct disk_report {
	char enforcement[DISK_ENFORCEMENT_SIZE]; /* "": the provider has said nothing */
	uint64_t watched, over, paused_total, counts_total, counting_us_total;
};

void disk_report_set(const struct disk_report *report);
struct disk_report disk_report_get(void);
