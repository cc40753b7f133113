/* SPDX-License-Identifier: Apache-2.0 */
/* surface/operator/provider_changes.h — providers are added and removed while the server runs. */
#pragma once

#include "http/server/http.h"

struct json_shape;

extern const struct json_shape provider_add_shape, provider_added_shape, provider_set_shape,
        provider_remove_query_shape, provider_removed_shape, provider_kinds_shape;
int provider_add(struct request *rq, const void *body, struct reply *reply, struct error *err);
int provider_set_settings(struct request *rq, const void *body, struct reply *reply,
                          struct error *err);
int provider_remove(struct request *rq, const void *body, struct reply *reply, struct error *err);
int provider_kinds_get(struct request *rq, const void *body, struct reply *reply,
                       struct error *err);
