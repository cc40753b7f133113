/* SPDX-License-Identifier: Apache-2.0 */
/* A client's WebSocket frames, whole and byte by byte: both must give the same messages and the
 * same answers. */
#include <stdint.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "http/message/websocket.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_message(void *context, bool is_text, struct span message)
{
	struct buf *account = context;

	if (message.size > WEBSOCKET_MESSAGE_MAX || (is_text && !span_is_utf8(message)))
		abort();
	buf_add_byte(account, is_text ? 't' : 'b');
	buf_add_span(account, message);
}

static void on_send(void *context, struct span bytes)
{
	(void)context;
	if (!bytes.size)
		abort();
}

static void feed(struct buf *account, struct span bytes, size_t step)
{
	static const struct websocket_events events = {.on_message = on_message, .send = on_send};
	struct websocket *ws = websocket_new(&events, account);
	enum websocket_state state = WEBSOCKET_OPEN;

	for (size_t at = 0; at < bytes.size && state == WEBSOCKET_OPEN; at += step) {
		size_t size = bytes.size - at < step ? bytes.size - at : step;

		state = websocket_receive(ws, (struct span){bytes.data + at, size});
	}
	websocket_close(ws, WEBSOCKET_GOING_AWAY, "over");
	websocket_free(ws);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(buf_done) struct buf whole = BUF((size_t)16 * 1024 * 1024);
	AUTO(buf_done) struct buf cut = BUF((size_t)16 * 1024 * 1024);
	struct span bytes = {(const char *)data, size};

	feed(&whole, bytes, size + 1);
	feed(&cut, bytes, 1);
	if (!span_equals(buf_span(&whole), buf_span(&cut)))
		abort();
	return 0;
}
