/* SPDX-License-Identifier: Apache-2.0 */
/* surface/e2b/routes.h — the route tables of E2B's API, its form of a failure, and its state. */
#pragma once

#include "http/server/http.h"

extern const struct route e2b_absent_routes[];
extern const struct route e2b_builds_routes[];
extern const struct route e2b_health_routes[];
extern const struct route e2b_life_routes[];
extern const struct route e2b_logs_routes[];
extern const struct route e2b_metrics_routes[];
extern const struct route e2b_sandboxes_routes[];
extern const struct route e2b_secrets_routes[];
extern const struct route e2b_snapshots_routes[];
extern const struct route e2b_teams_routes[];
extern const struct route e2b_templates_routes[];
extern const struct route e2b_volume_content_routes[];
extern const struct route e2b_volumes_routes[];

struct api;
struct http_failure;
bool e2b_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out);

void e2b_state_open(struct api *api);
void e2b_state_close(struct api *api);
