/* SPDX-License-Identifier: Apache-2.0 */
/* surface/operator/metrics.h — GET /metrics. */
#pragma once

#include "http/server/http.h"

int metrics_get(struct request *rq, const void *body, struct reply *reply, struct error *err);
