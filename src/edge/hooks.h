/* SPDX-License-Identifier: Apache-2.0 */
/* edge/hooks.h — the hooks of the HTTP server that this folder implements; struct server_options
 * says what each is for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "worker/worker.h"

struct api;
struct reply;
struct request;
struct route;

/* Finds the caller, checks its scope and admits the request. */
MUST_CHECK int api_authorize(struct request *rq, const struct route *route, struct error *err);
/* Whether the queue's key may run another request now. */
bool api_queue_has_room(void *context, const char *queue);
void api_on_handle(struct request *rq, bool begins);
void api_on_answer(struct request *rq, int status);
void api_on_done(struct request *rq, int status, int64_t took_us);
/* Gives back the request's limiter slot and wakes the next queued request of its key. Loop thread.
 */
void api_release_request(struct request *rq);
/* Takes a limiter slot again, beyond the limit if necessary. Loop thread. */
void api_readmit_request(struct request *rq);
void api_find_shares(const struct request *rq, uint64_t ret[WORKER_SHARES]);
/* Answers with the reply of the server that err->node names. When it fails, err says why; err is
 * unchanged when that server has published no address. Blocks; on the loop thread the request is
 * deferred to a worker. */
MUST_CHECK int api_forward(struct request *rq, struct reply *reply, struct error *err);
/* Whether changes that the fleet announces wake parked requests. */
void api_set_parked_wakes(struct api *api, bool wakes);
/* The value of Access-Control-Allow-Origin for this origin; NULL: the origin is not allowed. */
const char *api_allow_origin(void *context, const char *origin);
