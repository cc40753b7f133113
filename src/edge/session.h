/* SPDX-License-Identifier: Apache-2.0 */
/* edge/session.h — finds or makes the sandbox of a session: tenant + session.
 *
 * A session is a lease (sandbox/lease.h), so it has one sandbox, for all callers and all servers.
 */
#pragma once

#include "edge/api.h"
#include "http/server/http.h"

struct api_target;
struct fleet_create;
struct lease_session;

/* Opens the lease's sandbox and holds it. A missing one is made with the server's defaults. */
MUST_CHECK int session_open_lease(struct request *rq, const char *key, struct api_target *ret,
                                  struct error *err);
/* The same; a missing one is made by `make`. */
MUST_CHECK int session_open_made(struct request *rq, const char *key,
                                 const struct fleet_create *make, struct api_target *ret,
                                 struct error *err);
/* Opens the session's sandbox and holds it. A missing one is made, a stopped one is started. */
MUST_CHECK int session_open(struct request *rq, const struct lease_session *session,
                            struct api_target *ret, struct error *err);
/* Runs a handler that calls session_open or session_open_lease. When the handler fails and its
 * sandbox is gone, runs it once more with a new sandbox. Other failures are returned. */
MUST_CHECK int session_retry(struct request *rq, const void *body, struct reply *reply,
                             http_handler *handle, struct error *err);
