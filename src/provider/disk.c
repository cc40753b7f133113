/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/disk.h"

#include <pthread.h>

static struct {
	pthread_mutex_t mutex;
	struct disk_report last;
} reports = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void disk_report_set(const struct disk_report *report)
{
	pthread_mutex_lock(&reports.mutex);
	reports.last = *report;
	pthread_mutex_unlock(&reports.mutex);
}

struct disk_report disk_report_get(void)
{
	struct disk_report report;

	pthread_mutex_lock(&reports.mutex);
	report = reports.last;
	pthread_mutex_unlock(&reports.mutex);
	return report;
}
