/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/calls.h — requests that take long: each runs on a thread that may wait, and the loop
 * sends its answer.
 *
 * The answer is one JSON object. It is a stream of events when the client accepts one and asks for
 * progress, or when the server has sent it a message (client.h) before the answer. A client cancels
 * a call by notifications/cancelled and, in the modern era, by closing the connection. The running
 * tool ends then, and no answer is sent.
 *
 * When another server has the sandbox, the call is passed on to that server (edge/forward.h),
 * unless the answer has begun. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct mcp;
struct mcp_fault;
struct mcp_headers;
struct reply;

struct mcp_calls; /* the running calls; any thread */
struct mcp_calls *mcp_calls_new(void);
void mcp_calls_free(struct mcp_calls *calls); /* NULL is fine; no call runs any more */
/* `id` is the request's, as JSON. A call that has not begun yet ends when it begins. For a call
 * that was passed on, ret_node is the server to pass the cancellation on to. */
void mcp_calls_cancel(struct mcp_calls *calls, const char *owner, struct span id,
                      char ret_node[ERROR_NODE_MAX]);
void mcp_calls_cancel_all(struct mcp_calls *calls);

/* Writes the whole answer to m->message, also a failure. Returns the status. */
typedef int mcp_answer(struct mcp *m, const struct mcp_headers *headers, struct buf *out);
struct mcp_call_options {
	mcp_answer *answer;
	const struct mcp_headers *headers;
	const char *tool;  /* that is called, for the audit; NULL: none */
	const char *owner; /* the session or client that may cancel the call; NULL: none */
	bool streams;      /* the client accepts a stream of events */
	bool ends_with_client;
};
/* Copies all that it needs of `m`. */
MUST_CHECK int mcp_call_start(const struct mcp *m, const struct mcp_call_options *options,
                              struct reply *reply, struct mcp_fault *fault);
