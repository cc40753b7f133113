/* SPDX-License-Identifier: Apache-2.0 */
/* http/stream_events.h — progress and reply of a request as server-sent events; see parked.h. Loop
 * thread. */
#pragma once

#include <stdbool.h>

struct http_exchange;
/* Sends a progress event when the client accepts events and the message has changed. */
void stream_progress(struct http_exchange *ex);
/* True when the reply is sent as the last event of a stream instead of a body. */
bool stream_ends(const struct http_exchange *ex);
/* Writes the reply's body as that event, and first the stream's head if it was not sent. */
void stream_end(struct http_exchange *ex);
