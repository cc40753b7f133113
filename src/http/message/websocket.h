/* SPDX-License-Identifier: Apache-2.0 */
/* http/message/websocket.h — the server side of a WebSocket, over wslay. No I/O: websocket_receive
 * takes the client's bytes, the `send` callback gets the bytes for the client. It handles control
 * frames, UTF-8 and close codes. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

#define WEBSOCKET_MESSAGE_MAX ((size_t)1024 * 1024)

enum websocket_code {
	WEBSOCKET_NORMAL = 1000,
	WEBSOCKET_GOING_AWAY = 1001,
	WEBSOCKET_FAILED = 1011,
};

struct websocket;
struct websocket_events {
	void (*on_message)(void *context, bool is_text, struct span message);
	void (*send)(void *context, struct span bytes);
};
struct websocket *websocket_new(const struct websocket_events *events, void *context);
void websocket_free(struct websocket *ws); /* NULL is fine */

enum websocket_state {
	WEBSOCKET_OPEN,
	WEBSOCKET_CLOSED_BY_CLIENT, /* with a close frame, which was answered */
	WEBSOCKET_BROKEN,           /* the client violated the protocol; a close frame says how */
};
enum websocket_state websocket_receive(struct websocket *ws, struct span bytes);
void websocket_send(struct websocket *ws, bool is_text, struct span message);
void websocket_ping(struct websocket *ws);
/* Sends a close frame; no message may follow. The reason is cut to its limit. */
void websocket_close(struct websocket *ws, unsigned code, const char *reason);

bool websocket_key_is_valid(const char *key);
/* Appends the value of Sec-WebSocket-Accept. */
void websocket_write_accept(struct buf *out, const char *key);
