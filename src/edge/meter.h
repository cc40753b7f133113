/* SPDX-License-Identifier: Apache-2.0 */
/* edge/meter.h — durations of requests and of calls to the store. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "trace/timing.h"

struct api_meter;
struct route;
struct api_meter *api_meter_new(void);
void api_meter_free(struct api_meter *m);
/* `route` NULL: the request named none. Loop thread. */
void api_meter_request(struct api_meter *m, const struct route *route, int64_t took_us);
void api_meter_store(struct api_meter *m, int64_t took_us, bool ok);
/* Of all calls since the start. */
struct timing_sum api_meter_requests(const struct api_meter *m);
struct timing_sum api_meter_pings(const struct api_meter *m); /* of the store */
uint64_t api_meter_ping_failures(const struct api_meter *m);
/* Prometheus histograms: atoll_http_request_seconds by operation, and atoll_store_ping_seconds.
 * And the metrics of trace/timing.h and
 * sandbox/quota.h. Loop thread. */
void api_meter_write(const struct api_meter *m, struct buf *out);
struct api;
/* atoll_sign_ins_total, atoll_csrf_refused_total, atoll_streams_ended_total and
 * atoll_budget_refusals_total. */
void api_meter_write_access(const struct api *api, struct buf *out);
