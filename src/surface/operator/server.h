/* SPDX-License-Identifier: Apache-2.0 */
/* surface/operator/server.h — GET /v1/server. */
#pragma once

#include "http/server/http.h"

struct json_shape;

extern const struct json_shape server_shape;
int server_get_about(struct request *rq, const void *body, struct reply *reply, struct error *err);
