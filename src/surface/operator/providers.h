/* SPDX-License-Identifier: Apache-2.0 */
/* surface/operator/providers.h — the providers of the server: list and check. */
#pragma once

#include "http/server/http.h"

struct json_shape;

extern const struct json_shape providers_shape, provider_check_shape;
int providers_get(struct request *rq, const void *body, struct reply *reply, struct error *err);
int provider_check(struct request *rq, const void *body, struct reply *reply, struct error *err);
