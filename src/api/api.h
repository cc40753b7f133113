/* SPDX-License-Identifier: Apache-2.0 */
/* api/api.h — opens and closes the API: all surfaces and their shared state.
 *
 * A handler makes one call to fleet, store or compute, and writes the answer; its route row has
 * parsed the request. Rules that two surfaces need are in src/edge and src/calls. */
#pragma once

#include "http/server/http.h"

struct api;
struct http_failure;
struct http_host;

MUST_CHECK int api_open(struct api *api, struct error *err); /* makes the state that it owns */
/* Cancels calls that outlive their request. Call it after server_close and before the workers stop.
 */
void api_cancel_calls(struct api *api);
/* Ends recordings and uploads. Call it after server_close and before the provider and the blob
 * store close. */
void api_stop_background(struct api *api);
void api_close(struct api *api); /* after server_close */
/* Measures a call to the store, for /metrics and /readyz, and reads the quotas of requests. Call it
 * on a worker, every few seconds. */
void api_tick(struct api *api);

/* What /metrics answers. Loop thread. */
void api_write_metrics(struct api *api, struct buf *out);

/* Every surface's table, NULL-terminated: for server_options.routes. */
extern const struct route *const api_routes[];
/* Further paths of some routes, for server_options.aliases. */
extern const struct path_alias api_aliases[];
/* For server_options. */
bool api_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out);
struct http_host api_find_host(void *context, const struct request *rq);
/* The whole OpenAPI 3.1 document of api_routes; `atolld --openapi` prints it too. */
void api_write_openapi(struct buf *out);
