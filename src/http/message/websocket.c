/* SPDX-License-Identifier: Apache-2.0 */
#include "http/message/websocket.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <wslay/wslay.h>

#define KEY_SIZE 24    /* 16 bytes in base 64 */
#define REASON_MAX 123 /* what a control frame holds beside the code */

/* Position of the last received byte within a frame. */
struct frame_position {
	uint64_t left; /* of the frame's payload */
	uint8_t head[14];
	unsigned head_size;
	bool is_fragmented; /* more frames of the message follow */
};

/* wslay's context has 8 KiB of buffers: an idle connection, between messages and with an empty
 * output queue, has none. */
struct websocket {
	wslay_event_context_ptr context; /* or NULL */
	struct frame_position place;
	struct websocket_events events;
	void *user;
	struct span incoming; /* during websocket_receive */
	bool receiving;
};

static ssize_t on_wslay_receive(wslay_event_context_ptr context, uint8_t *room, size_t size,
                                UNUSED int flags, void *user)
{
	struct websocket *ws = user;

	if (!ws->incoming.size) {
		wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	if (size > ws->incoming.size)
		size = ws->incoming.size;
	memcpy(room, ws->incoming.data, size);
	span_skip(&ws->incoming, size);
	return (ssize_t)size;
}

static ssize_t on_wslay_send(UNUSED wslay_event_context_ptr context, const uint8_t *data,
                             size_t size, UNUSED int flags, void *user)
{
	struct websocket *ws = user;

	ws->events.send(ws->user, (struct span){(const char *)data, size});
	return (ssize_t)size;
}

static void on_wslay_message(UNUSED wslay_event_context_ptr context,
                             const struct wslay_event_on_msg_recv_arg *message, void *user)
{
	struct websocket *ws = user;

	if (message->opcode == WSLAY_TEXT_FRAME || message->opcode == WSLAY_BINARY_FRAME)
		ws->events.on_message(
		        ws->user, message->opcode == WSLAY_TEXT_FRAME,
		        (struct span){(const char *)message->msg, message->msg_length});
}

static unsigned head_size_of(const uint8_t head[2])
{
	unsigned length = head[1] & 0x7f;

	return 2 + (length == 126 ? 2 : length == 127 ? 8 : 0) + (head[1] & 0x80 ? 4 : 0);
}

static void begin_payload(struct frame_position *p)
{
	unsigned length = p->head[1] & 0x7f, more = length == 126 ? 2 : length == 127 ? 8 : 0;
	bool is_control = p->head[0] & 0x08;

	p->left = more ? 0 : length;
	for (unsigned i = 0; i < more; i++)
		p->left = p->left << 8 | p->head[2 + i];
	if (!is_control)
		p->is_fragmented = !(p->head[0] & 0x80);
	p->head_size = 0;
}

static void track_frames(struct frame_position *p, struct span bytes)
{
	while (bytes.size > 0) {
		size_t step = 1;

		if (p->left > 0) {
			step = p->left < bytes.size ? (size_t)p->left : bytes.size;
			p->left -= step;
		} else {
			p->head[p->head_size++] = (uint8_t)*bytes.data;
			if (p->head_size >= 2 && p->head_size == head_size_of(p->head))
				begin_payload(p);
		}
		span_skip(&bytes, step);
	}
}

static void free_idle_context(struct websocket *ws)
{
	const struct frame_position *p = &ws->place;

	if (ws->receiving || p->left > 0 || p->head_size > 0 || p->is_fragmented ||
	    !wslay_event_get_read_enabled(ws->context) ||
	    !wslay_event_get_write_enabled(ws->context) || wslay_event_want_write(ws->context) ||
	    wslay_event_get_close_received(ws->context) || wslay_event_get_close_sent(ws->context))
		return;
	wslay_event_context_free(ws->context);
	ws->context = NULL;
}

static void ensure_context(struct websocket *ws)
{
	static const struct wslay_event_callbacks callbacks = {
	        .recv_callback = on_wslay_receive,
	        .send_callback = on_wslay_send,
	        .on_msg_recv_callback = on_wslay_message,
	};

	if (ws->context)
		return;
	if (wslay_event_context_server_init(&ws->context, &callbacks, ws) != 0)
		abort(); /* only memory can be missing */
	wslay_event_config_set_max_recv_msg_length(ws->context, WEBSOCKET_MESSAGE_MAX);
}

struct websocket *websocket_new(const struct websocket_events *events, void *context)
{
	struct websocket *ws = memory_new(sizeof(*ws));

	ws->events = *events;
	ws->user = context;
	return ws;
}

void websocket_free(struct websocket *ws)
{
	if (!ws)
		return;
	if (ws->context)
		wslay_event_context_free(ws->context);
	free(ws);
}

/* Frames that were queued during a receive are sent after it, because wslay does not nest. */
static void send_queued(struct websocket *ws)
{
	if (!ws->receiving && wslay_event_want_write(ws->context))
		(void)wslay_event_send(ws->context);
}

enum websocket_state websocket_receive(struct websocket *ws, struct span bytes)
{
	int result;

	ensure_context(ws);
	track_frames(&ws->place, bytes);
	ws->incoming = bytes;
	ws->receiving = true;
	result = wslay_event_recv(ws->context);
	ws->receiving = false;
	ws->incoming = (struct span){NULL, 0};
	send_queued(ws);
	/* wslay echoes the code of a good close frame, and answers a bad one with another. */
	if (wslay_event_get_close_received(ws->context) &&
	    wslay_event_get_status_code_sent(ws->context) ==
	            wslay_event_get_status_code_received(ws->context))
		return WEBSOCKET_CLOSED_BY_CLIENT;
	if (result != 0 || !wslay_event_get_read_enabled(ws->context))
		return WEBSOCKET_BROKEN;
	free_idle_context(ws);
	return WEBSOCKET_OPEN;
}

static void queue_message(struct websocket *ws, uint8_t opcode, struct span message)
{
	const struct wslay_event_msg frame = {
	        .opcode = opcode, .msg = (const uint8_t *)message.data, .msg_length = message.size};

	/* Fails only after a close frame; then the message is dropped. */
	ensure_context(ws);
	(void)wslay_event_queue_msg(ws->context, &frame);
	send_queued(ws);
	free_idle_context(ws);
}

void websocket_send(struct websocket *ws, bool is_text, struct span message)
{
	queue_message(ws, is_text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME, message);
}

void websocket_ping(struct websocket *ws)
{
	queue_message(ws, WSLAY_PING, (struct span){NULL, 0});
}

void websocket_close(struct websocket *ws, unsigned code, const char *reason)
{
	struct span text = span_of(reason);

	if (text.size > REASON_MAX)
		text.size = REASON_MAX;
	/* A cut may have split a character. */
	while (text.size && !span_is_utf8(text))
		text.size--;
	ensure_context(ws);
	(void)wslay_event_queue_close(ws->context, (uint16_t)code, (const uint8_t *)text.data,
	                              text.size);
	send_queued(ws);
}

bool websocket_key_is_valid(const char *key)
{
	size_t digits = strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	                            "0123456789+/");

	return strlen(key) == KEY_SIZE && digits == KEY_SIZE - 2 && strcmp(key + digits, "==") == 0;
}

void websocket_write_accept(struct buf *out, const char *key)
{
	unsigned char hash[EVP_MAX_MD_SIZE], encoded[EVP_MAX_MD_SIZE * 2];
	AUTO(buf_done) struct buf text = BUF(128);
	unsigned hash_size;

	buf_add_text(&text, key);
	buf_add_text(&text, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"); /* RFC 6455, 1.3 */
	if (EVP_Digest(text.data, text.size, hash, &hash_size, EVP_sha1(), NULL) != 1)
		abort(); /* a libcrypto without SHA-1 */
	buf_add(out, encoded, (size_t)EVP_EncodeBlock(encoded, hash, (int)hash_size));
}
