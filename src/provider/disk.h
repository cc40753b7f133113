/* SPDX-License-Identifier: Apache-2.0 */
/* provider/disk.h — the provider's last report about disk limits on this host. One value per
 * process, for the metrics. Any thread. */
#pragma once

#include <stdint.h>

#define DISK_ENFORCEMENT_SIZE 16

struct disk_report {
	char enforcement[DISK_ENFORCEMENT_SIZE]; /* "": no report yet */
	uint64_t watched, over, paused_total, counts_total, counting_us_total;
};

void disk_report_set(const struct disk_report *report);
struct disk_report disk_report_get(void);
