/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/disk.h"

#include <pthread.h>

#include "base/thread.h"

static struct {
	pthread_mutex_t mutex;
	struct disk_report last;
} reports = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void disk_report_set(const struct disk_report *report)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&reports.mutex);

	reports.last = *report;
}

struct disk_report disk_report_get(void)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&reports.mutex);

	return reports.last;
}
