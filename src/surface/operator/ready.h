/* SPDX-License-Identifier: Apache-2.0 */
/* surface/operator/ready.h — GET /readyz. */
#pragma once

#include "http/server/http.h"

struct json_shape;

extern const struct json_shape readiness_shape;
int readiness_get(struct request *rq, const void *body, struct reply *reply, struct error *err);
