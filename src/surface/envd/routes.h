/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/routes.h — the route tables for the inside of a sandbox, E2B's forms of a failure,
 * and the state of this surface. */
#pragma once

#include "http/server/http.h"

struct api;
struct http_failure;

extern const struct route envd_signed_routes[];
/* NULL-terminated lists of tables, for requests to a sandbox: its envd and its code interpreter. */
extern const struct route *const envd_routes[], *const interpreter_routes[];

/* For server_options: `host` is the result of preview_find_host. */
struct http_host envd_host_find(struct api *api, const struct request *rq, struct http_host host);

/* {"code":404,"message":"…"} for routes of ENVD_TAG, the form of connect.h for CONNECT_TAG. */
bool envd_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out);

void envd_state_open(struct api *api);
void envd_state_close(struct api *api);
