/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/streams.h — reviews open streams: requests whose answer is a relay. Loop thread. */
#pragma once

#include "base/error.h"

struct http_server;
struct request;

/* Returns -1, with the reason, for a stream that must end. */
typedef int stream_review(void *context, const struct request *rq, struct error *err);
/* Calls `review` for each open stream, and a second time for each that must end. A WebSocket is
 * closed with code 1008 and the reason. Any other stream ends as by relay_fail. Returns how many
 * streams were ended. */
unsigned server_review_streams(struct http_server *server, stream_review *review, void *context);
