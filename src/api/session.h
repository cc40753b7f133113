/* SPDX-License-Identifier: Apache-2.0 */
/* api/session.h — tenant + session -> a sandbox that takes commands. Private to this
 * folder.
 *
 * A session is a lease (sandbox/lease.h): so it is one sandbox whoever asks, of whichever server.
 */
#pragma once

#include "api/caller.h"
#include "sandbox/lease.h"

/* Finds or makes the session's sandbox and holds it. A sandbox that has gone is replaced, a
 * stopped one is started. */
MUST_CHECK int session_open(struct request *rq, const struct lease_session *session,
                            struct api_target *ret, struct error *err);
