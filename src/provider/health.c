/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/health.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

#define SAMPLES_MAX 256
#define SLOW_SAMPLES_MIN 3
#define BACKOFF_MS 10000 /* then a create tries an unhealthy provider again */

struct provider_health {
	const char *name;
	pthread_mutex_t mutex; /* guards all below */
	struct provider_health_report report;
	unsigned failed_in_row;
	int64_t failed_ms; /* monotonic */
	bool has_change;
	uint32_t samples_us[SAMPLES_MAX]; /* a ring */
	int64_t sampled_ms[SAMPLES_MAX];  /* monotonic */
	int64_t p99_max_ms;
	uint64_t sample_count;
};

struct provider_health *provider_health_new(const char *name)
{
	struct provider_health *h = memory_new(sizeof(*h));

	h->name = name;
	h->report.is_healthy = true;
	pthread_mutex_init(&h->mutex, NULL);
	return h;
}

void provider_health_free(struct provider_health *h)
{
	if (!h)
		return;
	pthread_mutex_destroy(&h->mutex);
	free(h);
}

static void set_healthy(struct provider_health *h, bool is_healthy)
{
	if (h->report.is_healthy == is_healthy)
		return;
	h->report.is_healthy = is_healthy;
	h->report.changed_at = clock_unix_ms();
	h->has_change = true;
	if (is_healthy)
		log_info("the provider is healthy again", TEXT("provider", h->name));
	else
		log_warning("the provider is unhealthy", TEXT("provider", h->name),
		            TEXT("error", h->report.last_error));
}

static void note_failure(struct provider_health *h, const struct error *err)
{
	(void)snprintf(h->report.last_error, sizeof(h->report.last_error), "%s", err->text);
	h->report.failed_at = clock_unix_ms();
	h->failed_ms = clock_monotonic_ms();
	/* A full provider is healthy. */
	if (err->code != ERROR_LIMIT && ++h->failed_in_row >= HEALTH_FAILURES_MAX)
		set_healthy(h, false);
}

static void note_success(struct provider_health *h)
{
	h->failed_in_row = 0;
	set_healthy(h, true);
}

void provider_health_created(struct provider_health *h, int64_t took_us)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&h->mutex);

	h->report.creates++;
	h->sampled_ms[h->sample_count % SAMPLES_MAX] = clock_monotonic_ms();
	h->samples_us[h->sample_count++ % SAMPLES_MAX] =
	        took_us > UINT32_MAX ? UINT32_MAX : (uint32_t)took_us;
	note_success(h);
}

void provider_health_create_failed(struct provider_health *h, const struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&h->mutex);

	h->report.creates++;
	h->report.failures++;
	note_failure(h, err);
}

void provider_health_note(struct provider_health *h, const struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&h->mutex);

	if (err)
		note_failure(h, err);
	else
		note_success(h);
}

bool provider_failed(const struct error *err)
{
	return err->code == ERROR_UNAVAILABLE || err->code == ERROR_LIMIT ||
	       err->code == ERROR_TIMEOUT || err->code == ERROR_SYSTEM;
}

static int compare_samples(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The value that `percent` of the samples do not exceed. Sorts them. */
static int64_t find_percentile(uint32_t *samples, size_t count, unsigned percent)
{
	qsort(samples, count, sizeof(*samples), compare_samples);
	return samples[(count - 1) * percent / 100];
}

void provider_health_limit(struct provider_health *h, int64_t p99_max_ms)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&h->mutex);

	h->p99_max_ms = p99_max_ms;
}

/* Only recent creates count: a provider that creates avoid for that time is tried again. */
int64_t provider_health_slow_ms(struct provider_health *h)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&h->mutex);
	size_t kept = h->sample_count < SAMPLES_MAX ? (size_t)h->sample_count : SAMPLES_MAX;
	int64_t since = clock_monotonic_ms() - HEALTH_SLOW_MS, p99_ms;
	uint32_t recent[SAMPLES_MAX];
	size_t count = 0;

	for (size_t i = 0; h->p99_max_ms > 0 && i < kept; i++)
		if (h->sampled_ms[i] >= since)
			recent[count++] = h->samples_us[i];
	if (count < SLOW_SAMPLES_MIN)
		return 0;
	p99_ms = find_percentile(recent, count, 99) / 1000;
	return p99_ms > h->p99_max_ms ? p99_ms : 0;
}

struct provider_health_report provider_health_get(struct provider_health *h)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&h->mutex);
	struct provider_health_report report = h->report;
	size_t count = h->sample_count < SAMPLES_MAX ? (size_t)h->sample_count : SAMPLES_MAX;
	uint32_t sorted[SAMPLES_MAX];

	if (count == 0)
		return report;
	memcpy(sorted, h->samples_us, count * sizeof(*sorted));
	report.p50_us = find_percentile(sorted, count, 50);
	report.p99_us = find_percentile(sorted, count, 99);
	return report;
}

bool provider_health_backs_off(struct provider_health *h)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&h->mutex);

	return !h->report.is_healthy && clock_monotonic_ms() - h->failed_ms < BACKOFF_MS;
}

bool provider_health_take_change(struct provider_health *h, struct provider_health_report *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&h->mutex);

	if (!h->has_change)
		return false;
	h->has_change = false;
	*ret = h->report;
	return true;
}
