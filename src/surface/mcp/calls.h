/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/calls.h — requests that take long: each runs on a thread that may wait, while the
 * loop answers it. Private to this folder.
 *
 * The answer is one JSON object, or a stream of events when the client takes one and wants to hear
 * of progress. A call is cancelled by its client's word (notifications/cancelled), and, where the
 * protocol has it so, by his going away. What it runs ends then, and no answer is sent.
 *
 * One whose sandbox another server has is that server's to answer (api/forward.h), unless the
 * answer has begun. */
#pragma once

#include "surface/mcp/mcp.h"

struct mcp_calls; /* those that run; any thread */
struct mcp_calls *mcp_calls_new(void);
void mcp_calls_free(struct mcp_calls *calls); /* NULL is fine; none runs any more */
/* `id` is the request's, as JSON. One that does not run yet ends as it begins; of one that another
 * server answers, the word is for that one. */
void mcp_calls_cancel(struct mcp_calls *calls, const char *owner, struct span id,
                      char ret_node[ERROR_NODE_MAX]);
void mcp_calls_cancel_all(struct mcp_calls *calls);

/* Writes the whole answer of m->message, a failure too. Returns the status. */
typedef int mcp_answer(struct mcp *m, const struct mcp_headers *headers, struct buf *out);
struct mcp_call_options {
	mcp_answer *answer;
	const struct mcp_headers *headers;
	const char *owner; /* whose word cancels it; NULL: nobody's */
	bool streams;      /* the client takes a stream of events */
	bool ends_with_client;
};
/* Goes on with `m`, of which nothing has to live longer than this. */
MUST_CHECK int mcp_call_start(const struct mcp *m, const struct mcp_call_options *options,
                              struct reply *reply, struct mcp_fault *fault);
