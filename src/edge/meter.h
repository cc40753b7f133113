/* SPDX-License-Identifier: Apache-2.0 */
/* edge/meter.h — durations of requests and of calls to the store. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct api_meter;
struct api_meter *api_meter_new(void);
void api_meter_free(struct api_meter *m);
void api_meter_request(struct api_meter *m, int64_t took_us);
void api_meter_store(struct api_meter *m, int64_t took_us, bool ok);
/* Of all calls since the start; a quantile is the upper bound of its bucket. */
struct api_meter_sum {
	uint64_t count, failures;
	int64_t total_us, p50_us, p99_us;
};
struct api_meter_sum api_meter_requests(const struct api_meter *m);
struct api_meter_sum api_meter_pings(const struct api_meter *m); /* of the store */
/* Prometheus histograms: atoll_http_request_seconds and atoll_store_ping_seconds. */
void api_meter_write(const struct api_meter *m, struct buf *out);
struct api;
/* atoll_sign_ins_total, atoll_csrf_refused_total and atoll_streams_ended_total. */
void api_meter_write_access(const struct api *api, struct buf *out);
