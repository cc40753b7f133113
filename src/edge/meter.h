/* SPDX-License-Identifier: Apache-2.0 */
/* edge/meter.h — how long requests and the store take. Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct api_meter;
struct api_meter *api_meter_new(void);
void api_meter_free(struct api_meter *m);
/* Any thread. */
void api_meter_request(struct api_meter *m, int64_t took_us);
void api_meter_store(struct api_meter *m, int64_t took_us, bool ok);
/* True unless the store failed when it was asked last. */
bool api_meter_store_is_healthy(const struct api_meter *m);
/* Prometheus histograms: atoll_http_request_seconds and atoll_store_ping_seconds. */
void api_meter_write(const struct api_meter *m, struct buf *out);
