/* SPDX-License-Identifier: Apache-2.0 */
/* api/gateway/sessions.h — tenant + session -> a sandbox that takes commands. Private to this
 * folder and api.c.
 *
 * The store's unique (tenant, session) decides whose sandbox it is; a lock per session keeps the
 * calls that come together at first from making one each. */
#pragma once

#include "api/caller.h"

struct api_sessions;
struct api_sessions *api_sessions_new(void);
void api_sessions_free(struct api_sessions *s);

/* Finds or makes the session's sandbox and holds it. A sandbox that has gone is replaced, a
 * stopped one is started. */
MUST_CHECK int session_open(struct request *rq, const char *tenant_id, const char *session_id,
                            struct api_target *ret, struct error *err);
