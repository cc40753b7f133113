/* SPDX-License-Identifier: Apache-2.0 */
/* surface/operator/routes.h — the route tables of this surface. */
#pragma once

#include "http/server/http.h"

struct api;

/* Metrics in Prometheus' text form. Runs on the loop thread, which owns the server's counts. */
void operator_write_metrics(struct api *api, struct buf *out);

extern const struct route openapi_routes[];
extern const struct route operator_routes[];
