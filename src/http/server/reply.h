/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/reply.h — writes replies: heads, headers and events. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct http_exchange;

enum reply_framing { REPLY_LENGTH, REPLY_CHUNKED, REPLY_UNTIL_CLOSE, REPLY_SWITCH };
struct reply_head {
	int status;
	const char *content_type;
	enum reply_framing framing;
	int64_t length; /* REPLY_LENGTH */
	bool keep_alive;
};
/* reply_head.c: the status line, the server's own headers and those of the exchange. Tells
 * server_options.on_answer first. */
void reply_write_head(struct buf *out, struct http_exchange *ex, const struct reply_head *head);
/* Tells on_answer, for a reply that is an event of a stream. */
void reply_tell(struct http_exchange *ex, int status);
/* False for a status without a body, such as 204. */
bool reply_status_has_body(int status);
/* True when name and value are valid header text and the header is not set by the server itself. */
bool reply_header_is_valid(const char *name, const char *value);
void reply_add_header(struct buf *headers, const char *name, const char *value);

/* reply_coding.c: compresses the whole reply if it is JSON of at least 1 KiB and the client accepts
 * gzip, or names zstd. Not for ROUTE_PLAIN, for replies with an ETag or a cookie, and for streams.
 */
void reply_encode(struct http_exchange *ex);

/* stream_events.c: progress and reply of a request as server-sent events, see parked.h. Loop
 * thread. Sends a progress event when the client accepts events and the message has changed. */
void stream_progress(struct http_exchange *ex);
/* True when the client may receive the reply as an event of a stream. */
bool stream_is_accepted(const struct http_exchange *ex);
/* True when the reply is sent as the last event of a stream instead of a body. */
bool stream_ends(const struct http_exchange *ex);
/* Writes the reply's body as that event, and first the stream's head if it was not sent. */
void stream_end(struct http_exchange *ex);
