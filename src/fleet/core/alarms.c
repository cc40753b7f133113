/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/alarms.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/thread.h"
#include "store/sandbox_record.h"

/* Without an alarm the thread looks again after this. */
#define REST_MS 60000

struct alarm {
	char sandbox_id[ID_SIZE + 1];
	int64_t at; /* unix ms */
};

/* The mutex guards all members. */
struct alarms {
	void (*ring)(void *context, const char *sandbox_id);
	void *context;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	pthread_t thread;
	bool has_thread, ends;
	struct alarm items[ALARMS_MAX];
	size_t count;
};

struct alarms *alarms_new(void (*ring)(void *context, const char *sandbox_id), void *context)
{
	struct alarms *alarms = memory_new(sizeof(*alarms));

	alarms->ring = ring;
	alarms->context = context;
	pthread_mutex_init(&alarms->mutex, NULL);
	thread_condition_init(&alarms->changed);
	return alarms;
}

void alarms_free(struct alarms *alarms)
{
	if (!alarms)
		return;
	pthread_mutex_lock(&alarms->mutex);
	alarms->ends = true;
	pthread_cond_signal(&alarms->changed);
	pthread_mutex_unlock(&alarms->mutex);
	if (alarms->has_thread)
		pthread_join(alarms->thread, NULL);
	pthread_cond_destroy(&alarms->changed);
	pthread_mutex_destroy(&alarms->mutex);
	free(alarms);
}

static struct alarm *find_alarm(struct alarms *alarms, const char *sandbox_id)
{
	for (size_t i = 0; i < alarms->count; i++)
		if (strcmp(alarms->items[i].sandbox_id, sandbox_id) == 0)
			return &alarms->items[i];
	return NULL;
}

static void remove_alarm(struct alarms *alarms, struct alarm *alarm)
{
	*alarm = alarms->items[--alarms->count];
}

static struct alarm *find_first(struct alarms *alarms)
{
	struct alarm *first = NULL;

	for (size_t i = 0; i < alarms->count; i++)
		if (!first || alarms->items[i].at < first->at)
			first = &alarms->items[i];
	return first;
}

static void *run_alarms(void *context)
{
	struct alarms *alarms = context;

	pthread_mutex_lock(&alarms->mutex);
	while (!alarms->ends) {
		struct alarm *first = find_first(alarms), due;
		int64_t left = first ? first->at - clock_unix_ms() : REST_MS;

		if (left > 0) {
			thread_wait(&alarms->changed, &alarms->mutex, deadline_after(left));
			continue;
		}
		due = *first;
		remove_alarm(alarms, first);
		pthread_mutex_unlock(&alarms->mutex);
		alarms->ring(alarms->context, due.sandbox_id);
		pthread_mutex_lock(&alarms->mutex);
	}
	pthread_mutex_unlock(&alarms->mutex);
	return NULL;
}

/* Called with the mutex held. */
static void start_thread(struct alarms *alarms)
{
	if (alarms->has_thread)
		return;
	alarms->has_thread = thread_start(&alarms->thread, NULL, run_alarms, alarms) == 0;
	if (!alarms->has_thread)
		log_warning("timeouts end late: no thread");
}

/* Called with the mutex held. */
static void set_alarm(struct alarms *alarms, const char *sandbox_id, int64_t at)
{
	struct alarm *alarm = find_alarm(alarms, sandbox_id);

	if (at == 0 || at - clock_unix_ms() > ALARM_WITHIN_MS) {
		if (alarm)
			remove_alarm(alarms, alarm);
		return;
	}
	if (!alarm && (alarms->count == ALARMS_MAX || strlen(sandbox_id) > ID_SIZE))
		return;
	if (!alarm) {
		alarm = &alarms->items[alarms->count++];
		memcpy(alarm->sandbox_id, sandbox_id, strlen(sandbox_id) + 1);
	}
	alarm->at = at;
	start_thread(alarms);
	pthread_cond_signal(&alarms->changed);
}

void alarm_set(struct alarms *alarms, const struct sandbox_record *r)
{
	if (!alarms)
		return;
	pthread_mutex_lock(&alarms->mutex);
	set_alarm(alarms, r->id, r->actual == SANDBOX_STARTED ? r->timeout_at : 0);
	pthread_mutex_unlock(&alarms->mutex);
}
