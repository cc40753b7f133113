/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/updates.h — streams of notifications outside of calls: of a session, and of a
 * subscriptions/listen request in the modern era. */
#pragma once

#include "base/error.h"

struct mcp;
struct mcp_fault;
struct reply;
struct request;

/* Replies with notifications/resources/updated for the sandboxes that the session has subscribed
 * to, and with notifications/resources/list_changed when a sandbox is created or deleted. The
 * session is known to be the caller's. ERROR_CONFLICT if it has a stream. */
MUST_CHECK int mcp_updates_reply(struct request *rq, const char *session, struct reply *reply,
                                 struct error *err);
/* subscriptions/listen: the same for what the request names, until its client closes the
 * connection. */
MUST_CHECK int mcp_listen(struct mcp *m, struct reply *reply, struct mcp_fault *fault);
