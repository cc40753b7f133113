/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/plans.h — the answer to a create with dry_run. Private to the folder. */
#pragma once

#include "http/server/http.h"

struct fleet_create;

extern const struct json_shape plan_shape;
MUST_CHECK int reply_plan(struct request *rq, const struct fleet_create *request,
                          struct reply *reply, struct error *err);
