/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/routes.h — the route tables of Daytona's API, its form of a failure, and its
 * state. */
#pragma once

#include "http/server/http.h"

extern const struct route daytona_bulk_routes[];
extern const struct route daytona_files_routes[];
extern const struct route daytona_forks_routes[];
extern const struct route daytona_git_routes[];
extern const struct route daytona_images_routes[];
extern const struct route daytona_info_routes[];
extern const struct route daytona_interpreter_routes[];
extern const struct route daytona_listing_routes[];
extern const struct route daytona_lsp_routes[];
extern const struct route daytona_attached_routes[];
extern const struct route daytona_network_routes[];
extern const struct route daytona_ports_routes[];
extern const struct route daytona_process_routes[];
extern const struct route daytona_pty_routes[];
extern const struct route daytona_sandboxes_routes[];
extern const struct route daytona_secrets_routes[];
extern const struct route daytona_sessions_routes[];
extern const struct route daytona_signed_routes[];
extern const struct route daytona_snapshots_routes[];
extern const struct route daytona_volumes_routes[];
extern const struct route daytona_warm_pools_routes[];

struct api;
struct http_failure;
bool daytona_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out);

void daytona_state_open(struct api *api);
void daytona_state_close(struct api *api);
