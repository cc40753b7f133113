/* SPDX-License-Identifier: Apache-2.0 */
/* surface/operator/metrics.h — GET /metrics. */
#pragma once

#include "http/server/http.h"

struct api;
struct buf;

void metrics_write(struct buf *out, struct api *api); /* loop thread */
int metrics_get(struct request *rq, const void *body, struct reply *reply, struct error *err);
/* decisions.c */
void decisions_write_metrics(struct buf *out, const struct api *api);
/* providers.c: those with the label `provider`. */
void providers_write_metrics(struct buf *out, const struct api *api);
