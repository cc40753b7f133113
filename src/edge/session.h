/* SPDX-License-Identifier: Apache-2.0 */
/* edge/session.h — tenant + session -> a sandbox that takes commands. Private to this
 * folder.
 *
 * A session is a lease (sandbox/lease.h): so it is one sandbox whoever asks, of whichever server.
 */
#pragma once

#include "edge/caller.h"
#include "sandbox/lease.h"

/* The sandbox of this lease, made if need be with what the server has by default, and held. */
MUST_CHECK int session_open_lease(struct request *rq, const char *key, struct api_target *ret,
                                  struct error *err);
/* Finds or makes the session's sandbox and holds it. A sandbox that has gone is replaced, a
 * stopped one is started. */
MUST_CHECK int session_open(struct request *rq, const struct lease_session *session,
                            struct api_target *ret, struct error *err);
/* Runs a handler that opens its sandbox by one of the two. When it fails and that sandbox turns out
 * to be gone, it is run once more, in the next one; every other failure is the answer. */
MUST_CHECK int session_retry(struct request *rq, const void *body, struct reply *reply,
                             http_handler *handle, struct error *err);
