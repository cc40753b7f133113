/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/builds.h — handlers and shapes of builds. */
#pragma once

#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "http/server/http.h"

#define BUILDS "/api/sandbox/templates/builds"

static inline struct fleet_ref build_ref(const struct request *rq)
{
	return (struct fleet_ref){.project_id = api_project(rq),
	                          .id_or_name = request_param(rq, "build")};
}

extern const struct json_shape build_logs_query, build_logs_shape;
http_handler build_logs_get;
extern const struct json_shape build_files_shape;
http_handler build_files_get, build_files_put;
