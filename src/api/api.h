/* SPDX-License-Identifier: Apache-2.0 */
/* api/api.h — the HTTP surfaces: route tables, one folder per surface, and what they share.
 *
 * A handler is parse, one call, answer: the route row has parsed already, the call goes to fleet,
 * store or compute. Rules that two surfaces need live below this folder. */
#pragma once

#include "edge/api.h"

MUST_CHECK int api_open(struct api *api, struct error *err); /* makes what it owns */
/* Cancels the calls that outlive their request: after server_close and before the workers stop. */
void api_cancel_calls(struct api *api);
/* Ends what goes on behind its handlers (recordings, uploads): after server_close and before the
 * provider and the blob store close. */
void api_stop_background(struct api *api);
void api_close(struct api *api); /* after server_close */
/* Measures the store, for /metrics and /readyz; on a worker, every few seconds. */
void api_measure_store(struct api *api);

/* After a change of keys or roles that was made behind the handlers' back. */
void api_forget_keys(struct api *api);

/* Every surface's table, NULL-terminated: for server_options.routes. */
extern const struct route *const api_routes[];
/* The paths under which some of them are known as well: for server_options.aliases. */
extern const struct path_alias api_aliases[];
/* For server_options. */
bool api_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out);
struct http_host api_find_host(void *context, const struct request *rq);
/* The whole OpenAPI 3.1 document of api_routes; `atolld --openapi` prints it too. */
void api_write_openapi(struct buf *out);
