/* SPDX-License-Identifier: Apache-2.0 */
/* api/stream_shapes.h — the messages of streams and WebSockets, for the OpenAPI document. The
 * streams write them piece by piece, so these shapes are never parsed or written;
 * tests/system/test_stream_schemas.py compares real messages with them. */
#pragma once

#include "http/server/http.h"

struct json_shape;

/* Messages in JSON, by the end of the path. The last row has no path_end. */
struct stream_messages {
	enum http_method method;
	const char *path_end;
	const struct json_shape *server, *server_also; /* sent by the server; `also` may be NULL */
	const struct json_shape *client;               /* of a WebSocket; else NULL */
};

/* Without shapes for a route whose messages are not described. */
const struct stream_messages *stream_messages_of(const struct route *route);
/* Writes the member x-itemSchema: the schema of each message of a stream. OpenAPI 3.2 calls it
 * itemSchema; 3.1 has no word for it. */
void stream_messages_write(struct buf *out, const struct stream_messages *messages);
/* Writes the member x-messages of a WebSocket: the text messages of both sides. */
void stream_websocket_write(struct buf *out, const struct route *route);
/* Writes {"$ref": …} to the schema of this name. */
void schema_reference_write(struct buf *out, const char *name, const char *schema);
bool route_path_ends_with(const struct route *route, const char *end);
