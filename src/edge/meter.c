/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/meter.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "edge/access_watch.h"
#include "edge/api.h"
#include "sign_in/sign_in.h"

/* Upper bounds in microseconds; the last bucket counts longer durations. */
static const int64_t bounds_us[] = {100,     250,     500,     1000,     2500,    5000,
                                    10000,   25000,   50000,   100000,   250000,  500000,
                                    1000000, 2500000, 5000000, 10000000, 60000000};
#define BUCKETS (COUNT_OF(bounds_us) + 1)

struct histogram {
	atomic_uint_fast64_t buckets[BUCKETS];
	atomic_uint_fast64_t sum_us;
};

struct api_meter {
	struct histogram requests, store;
	atomic_uint_fast64_t store_failures;
};

struct api_meter *api_meter_new(void)
{
	struct api_meter *m = memory_new(sizeof(*m));

	return m;
}

void api_meter_free(struct api_meter *m)
{
	free(m);
}

static void histogram_add(struct histogram *h, int64_t took_us)
{
	size_t bucket = 0;

	while (bucket < COUNT_OF(bounds_us) && took_us > bounds_us[bucket])
		bucket++;
	atomic_fetch_add_explicit(&h->buckets[bucket], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->sum_us, (uint_fast64_t)took_us, memory_order_relaxed);
}

void api_meter_request(struct api_meter *m, int64_t took_us)
{
	histogram_add(&m->requests, took_us);
}

void api_meter_store(struct api_meter *m, int64_t took_us, bool ok)
{
	histogram_add(&m->store, took_us);
	if (!ok)
		atomic_fetch_add_explicit(&m->store_failures, 1, memory_order_relaxed);
}

static int64_t find_quantile(const uint64_t counts[BUCKETS], uint64_t total, unsigned percent)
{
	uint64_t below = 0;
	size_t bucket = 0;

	while (bucket < COUNT_OF(bounds_us) - 1 && (below + counts[bucket]) * 100 < total * percent)
		below += counts[bucket++];
	return total ? bounds_us[bucket] : 0;
}

static struct api_meter_sum sum_histogram(const struct histogram *h)
{
	struct api_meter_sum sum = {
	        .total_us = (int64_t)atomic_load_explicit(&h->sum_us, memory_order_relaxed)};
	uint64_t counts[BUCKETS];

	for (size_t i = 0; i < BUCKETS; i++) {
		counts[i] = atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
		sum.count += counts[i];
	}
	sum.p50_us = find_quantile(counts, sum.count, 50);
	sum.p99_us = find_quantile(counts, sum.count, 99);
	return sum;
}

struct api_meter_sum api_meter_requests(const struct api_meter *m)
{
	return sum_histogram(&m->requests);
}

struct api_meter_sum api_meter_pings(const struct api_meter *m)
{
	struct api_meter_sum sum = sum_histogram(&m->store);

	sum.failures = atomic_load_explicit(&m->store_failures, memory_order_relaxed);
	return sum;
}

static void write_histogram(const struct histogram *h, const char *name, const char *help,
                            struct buf *out)
{
	uint64_t total = 0;

	buf_addf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
	for (size_t i = 0; i < BUCKETS; i++) {
		total += atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
		if (i < COUNT_OF(bounds_us))
			buf_addf(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
			         (double)bounds_us[i] / 1e6, total);
		else
			buf_addf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, total);
	}
	buf_addf(out, "%s_sum %.6f\n%s_count %" PRIu64 "\n", name,
	         (double)atomic_load_explicit(&h->sum_us, memory_order_relaxed) / 1e6, name, total);
}

void api_meter_write(const struct api_meter *m, struct buf *out)
{
	write_histogram(&m->requests, "atoll_http_request_seconds",
	                "Time from a request's head to the end of its reply.", out);
	write_histogram(&m->store, "atoll_store_ping_seconds", "Time of one call to the store.",
	                out);
	buf_addf(out,
	         "# HELP atoll_store_failures_total Calls to the store that failed.\n"
	         "# TYPE atoll_store_failures_total counter\natoll_store_failures_total %" PRIu64
	         "\n",
	         (uint64_t)atomic_load_explicit(&m->store_failures, memory_order_relaxed));
}

void api_meter_write_access(const struct api *api, struct buf *out)
{
	struct sign_in_counts c = sign_in_counts_get(api->sign_in);

	buf_addf(out,
	         "# HELP atoll_sign_ins_total Attempts to sign in from a browser.\n"
	         "# TYPE atoll_sign_ins_total counter\n"
	         "atoll_sign_ins_total{result=\"made\"} %" PRIu64 "\n"
	         "atoll_sign_ins_total{result=\"refused\"} %" PRIu64 "\n"
	         "atoll_sign_ins_total{result=\"limited\"} %" PRIu64 "\n"
	         "# HELP atoll_csrf_refused_total Requests refused because they may come from "
	         "another page.\n# TYPE atoll_csrf_refused_total counter\n"
	         "atoll_csrf_refused_total %" PRIu64 "\n"
	         "# HELP atoll_streams_ended_total Open streams ended because their caller lost "
	         "access.\n# TYPE atoll_streams_ended_total counter\n"
	         "atoll_streams_ended_total %" PRIu64 "\n",
	         c.made, c.refused, c.limited, c.forged, access_watch_ended(api->access));
}
