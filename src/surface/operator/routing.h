/* SPDX-License-Identifier: Apache-2.0 */
/* surface/operator/routing.h — the routing rules of the server: show, set and reset. */
#pragma once

#include "http/server/http.h"

struct json_shape;

extern const struct json_shape routing_shape, routing_request_shape;
int routing_get(struct request *rq, const void *body, struct reply *reply, struct error *err);
int routing_put(struct request *rq, const void *body, struct reply *reply, struct error *err);
int routing_delete(struct request *rq, const void *body, struct reply *reply, struct error *err);
