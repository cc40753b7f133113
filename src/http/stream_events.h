/* SPDX-License-Identifier: Apache-2.0 */
/* http/stream_events.h — a request's wait and its reply as server-sent events; see parked.h.
 * Private to this folder. Loop thread. */
#pragma once

#include <stdbool.h>

struct http_exchange;
/* Tells the client what its parked request waits for, if it listens and that has changed. */
void stream_progress(struct http_exchange *ex);
/* Whether the reply is the last event of a stream rather than a body. */
bool stream_ends(const struct http_exchange *ex);
/* Writes the reply's body as that event, after the stream's head should that be missing. */
void stream_end(struct http_exchange *ex);
