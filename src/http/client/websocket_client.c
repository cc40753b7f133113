/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/client.h"

#include <openssl/evp.h>
#include <poll.h>
#include <stdlib.h>
#include <wslay/wslay.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/random.h"
#include "http/client/curl.h"
#include "http/message/head.h"
#include "http/message/websocket.h"

#define HEAD_MAX 16384
#define ERROR_BODY_MAX 65536
#define SEND_MS 30000 /* without the server taking a byte */

/* libcurl makes the connection (TCP, unix socket, TLS, proxy) and is then only asked to send and
 * receive; its socket never blocks, waiting is done here. */
struct http_websocket {
	CURL *curl;
	curl_socket_t fd;
	wslay_event_context_ptr frames;
	struct buf early; /* came with the head of the answer */
	struct error failure;
	bool ended, closing;
	void (*on_message)(void *context, bool text, struct span message); /* while receiving */
	void *context;
};

/* 1 = some bytes, 0 = end or nothing yet (see ws->ended), -1 = failed. */
static int receive_bytes(struct http_websocket *ws, char *room, size_t size, size_t *ret_size)
{
	CURLcode code = curl_easy_recv(ws->curl, room, size, ret_size);

	if (code == CURLE_AGAIN)
		return 0;
	if (code != CURLE_OK)
		return client_fail(code, "receive", "", &ws->failure);
	ws->ended = *ret_size == 0;
	return *ret_size > 0;
}

static int send_bytes(struct http_websocket *ws, struct span bytes)
{
	while (bytes.size > 0) {
		size_t sent = 0;
		CURLcode code = curl_easy_send(ws->curl, bytes.data, bytes.size, &sent);
		int ready;

		span_skip(&bytes, sent);
		if (code == CURLE_OK)
			continue;
		if (code != CURLE_AGAIN || ws->closing)
			return client_fail(code, "send", "", &ws->failure);
		ready = fd_wait(ws->fd, POLLOUT, deadline_after(SEND_MS), &ws->failure);
		if (ready < 0)
			return -1;
		if (ready == 0)
			return FAIL(&ws->failure, ERROR_TIMEOUT, "send: the server takes nothing");
	}
	return 0;
}

static ssize_t on_wslay_receive(wslay_event_context_ptr frames, uint8_t *room, size_t size,
                                UNUSED int flags, void *user)
{
	struct http_websocket *ws = user;
	size_t received = 0;
	int result = 1;

	if (ws->early.size > 0) {
		received = size < ws->early.size ? size : ws->early.size;
		memcpy(room, ws->early.data, received);
		buf_consume(&ws->early, received);
	} else {
		result = receive_bytes(ws, (char *)room, size, &received);
	}
	if (result > 0)
		return (ssize_t)received;
	wslay_event_set_error(frames,
	                      result < 0 ? WSLAY_ERR_CALLBACK_FAILURE : WSLAY_ERR_WOULDBLOCK);
	return -1;
}

static ssize_t on_wslay_send(wslay_event_context_ptr frames, const uint8_t *data, size_t size,
                             UNUSED int flags, void *user)
{
	struct http_websocket *ws = user;

	if (send_bytes(ws, (struct span){(const char *)data, size}) == 0)
		return (ssize_t)size;
	wslay_event_set_error(frames, WSLAY_ERR_CALLBACK_FAILURE);
	return -1;
}

/* A mask that could be guessed would let a page write requests into the caches of proxies. */
static int on_wslay_mask(UNUSED wslay_event_context_ptr frames, uint8_t *room, size_t size,
                         UNUSED void *user)
{
	random_bytes(room, size);
	return 0;
}

static void on_wslay_message(UNUSED wslay_event_context_ptr frames,
                             const struct wslay_event_on_msg_recv_arg *message, void *user)
{
	struct http_websocket *ws = user;
	struct span bytes = {(const char *)message->msg, message->msg_length};

	if (message->opcode == WSLAY_TEXT_FRAME || message->opcode == WSLAY_BINARY_FRAME)
		ws->on_message(ws->context, message->opcode == WSLAY_TEXT_FRAME, bytes);
}

static int send_upgrade(struct http_websocket *ws, const struct http_client_options *options,
                        const char *path, const char *key)
{
	AUTO(buf_done) struct buf head = BUF(1 << 20);
	const char *host = strstr(options->base_url, "://") + 3;
	int host_size = (int)strcspn(host, "/");

	buf_addf(&head, "GET %s%s HTTP/1.1\r\nHost: %.*s\r\n", host + host_size, path, host_size,
	         host);
	buf_addf(&head,
	         "Connection: Upgrade\r\nUpgrade: websocket\r\n"
	         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n",
	         key);
	if (options->bearer)
		buf_addf(&head, "Authorization: Bearer %s\r\n", options->bearer);
	if (options->user_agent)
		buf_addf(&head, "User-Agent: %s\r\n", options->user_agent);
	buf_add_text(&head, "\r\n");
	return send_bytes(ws, buf_span(&head));
}

/* Waits for more of the answer. 0 = some came, -1 = it failed, ended or is late. */
static int read_more(struct http_websocket *ws, int64_t deadline)
{
	char room[4096];
	size_t size = 0;

	for (;;) {
		int result = receive_bytes(ws, room, sizeof(room), &size);

		if (result < 0)
			return -1;
		if (result > 0)
			break;
		if (ws->ended)
			return FAIL(&ws->failure, ERROR_UNAVAILABLE, "the server hung up");
		result = fd_wait(ws->fd, POLLIN, deadline, &ws->failure);
		if (result < 0)
			return -1;
		if (result == 0)
			return FAIL(&ws->failure, ERROR_TIMEOUT, "the server does not answer");
	}
	buf_add(&ws->early, room, size);
	return 0;
}

static int read_head(struct http_websocket *ws, int64_t deadline, struct buf *text,
                     struct http_head *ret)
{
	size_t scanned = 0, size = 0;
	enum http_fault fault;

	while (!(fault = head_find_end(buf_span(&ws->early), &scanned, &size)) && !size &&
	       ws->early.size <= HEAD_MAX) {
		if (read_more(ws, deadline) < 0)
			return -1;
	}
	buf_add(text, ws->early.data, size);
	buf_consume(&ws->early, size);
	if (fault || !size || head_parse_answer(text->data, size, ret) != FAULT_NONE)
		return FAIL(&ws->failure, ERROR_UNAVAILABLE, "the answer is not HTTP");
	return 0;
}

static int fail_refused(struct http_websocket *ws, const struct http_head *head, int64_t deadline)
{
	while (head->content_length <= ERROR_BODY_MAX &&
	       (int64_t)ws->early.size < head->content_length) {
		if (read_more(ws, deadline) < 0)
			break;
	}
	if (client_error_read(head->status, buf_span(&ws->early), &ws->failure))
		return -1;
	return FAIL(&ws->failure, ERROR_UNAVAILABLE, "the server answers with status %d",
	            head->status);
}

static int check_upgrade(struct http_websocket *ws, const struct http_head *head, const char *key)
{
	AUTO(buf_done) struct buf wanted = BUF(64);
	const char *accept = head_find(head, "Sec-WebSocket-Accept");

	websocket_write_accept(&wanted, key);
	if (!accept || strcmp(accept, buf_text(&wanted)) != 0)
		return FAIL(&ws->failure, ERROR_UNAVAILABLE, "the server speaks no WebSocket");
	return 0;
}

static int upgrade_connection(struct http_websocket *ws, const struct http_client_options *options,
                              const char *path)
{
	AUTO(buf_done) struct buf text = BUF(HEAD_MAX * 2);
	struct http_head head;
	unsigned char nonce[16], key[32];
	int64_t deadline = deadline_after(CLIENT_CONNECT_MS);

	random_bytes(nonce, sizeof(nonce));
	EVP_EncodeBlock(key, nonce, sizeof(nonce));
	if (send_upgrade(ws, options, path, (const char *)key) < 0 ||
	    read_head(ws, deadline, &text, &head) < 0)
		return -1;
	if (head.status != 101)
		return fail_refused(ws, &head, deadline);
	return check_upgrade(ws, &head, (const char *)key);
}

static int connect_server(struct http_websocket *ws, const struct http_client_options *options)
{
	char detail[CURL_ERROR_SIZE] = "";
	CURLcode code;

	client_set_target(ws->curl, options, "");
	curl_easy_setopt(ws->curl, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(ws->curl, CURLOPT_ERRORBUFFER, detail);
	code = curl_easy_perform(ws->curl);
	curl_easy_setopt(ws->curl, CURLOPT_ERRORBUFFER, NULL);
	if (code == CURLE_OK)
		code = curl_easy_getinfo(ws->curl, CURLINFO_ACTIVESOCKET, &ws->fd);
	if (client_has_no_connection(ws->curl, code))
		return client_fail_connect(ws->curl, code, options, detail, &ws->failure);
	return code == CURLE_OK ? 0 : client_fail(code, "connect", detail, &ws->failure);
}

static struct http_websocket *websocket_new_client(void)
{
	static const struct wslay_event_callbacks callbacks = {
	        .recv_callback = on_wslay_receive,
	        .send_callback = on_wslay_send,
	        .genmask_callback = on_wslay_mask,
	        .on_msg_recv_callback = on_wslay_message,
	};
	struct http_websocket *ws = memory_new(sizeof(*ws));

	if (wslay_event_context_client_init(&ws->frames, &callbacks, ws) != 0)
		abort();
	wslay_event_config_set_max_recv_msg_length(ws->frames, WEBSOCKET_MESSAGE_MAX);
	ws->curl = client_curl_new();
	ws->early = BUF(HEAD_MAX + ERROR_BODY_MAX);
	return ws;
}

static void websocket_free_client(struct http_websocket *ws)
{
	wslay_event_context_free(ws->frames);
	curl_easy_cleanup(ws->curl);
	buf_done(&ws->early);
	free(ws);
}

int http_websocket_open(const struct http_client_options *options, const char *path,
                        struct http_websocket **ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct http_client_options copy;
	struct http_websocket *ws;

	if (client_check_path(path, err) < 0 || client_check_options(options, err) < 0)
		return -1;
	copy = client_copy_options(&arena, options);
	ws = websocket_new_client();
	if (connect_server(ws, &copy) == 0 && upgrade_connection(ws, &copy, path) == 0) {
		*ret = ws;
		return 0;
	}
	*err = ws->failure;
	websocket_free_client(ws);
	return FAIL_CONTEXT(err, "open %.150s", path);
}

int http_websocket_fd(const struct http_websocket *ws)
{
	return ws->fd;
}

static int flush_frames(struct http_websocket *ws, struct error *err)
{
	if (wslay_event_send(ws->frames) == 0)
		return 0;
	if (ws->failure.code == ERROR_NONE)
		return FAIL(err, ERROR_UNAVAILABLE, "the WebSocket is closed");
	*err = ws->failure;
	return -1;
}

int http_websocket_send(struct http_websocket *ws, bool text, struct span message,
                        struct error *err)
{
	struct wslay_event_msg frame = {.opcode = text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME,
	                                .msg = (const uint8_t *)message.data,
	                                .msg_length = message.size};

	if (wslay_event_queue_msg(ws->frames, &frame) != 0)
		return FAIL(err, ERROR_UNAVAILABLE, "the WebSocket is closed");
	return flush_frames(ws, err);
}

int http_websocket_receive(struct http_websocket *ws,
                           void (*on_message)(void *context, bool text, struct span message),
                           void *context, struct error *err)
{
	int result;

	ws->on_message = on_message;
	ws->context = context;
	result = wslay_event_recv(ws->frames);
	if (wslay_event_get_close_received(ws->frames)) {
		(void)wslay_event_send(
		        ws->frames); /* the answer to the close; the peer may be gone */
		return 0;
	}
	if (result != 0 && ws->failure.code != ERROR_NONE) {
		*err = ws->failure;
		return -1;
	}
	if (ws->ended)
		return FAIL(err, ERROR_UNAVAILABLE, "the connection was lost");
	if (flush_frames(ws, err) < 0)
		return -1;
	if (result != 0 || !wslay_event_get_read_enabled(ws->frames))
		return FAIL(err, ERROR_UNAVAILABLE, "the server broke the WebSocket protocol");
	return 1;
}

void http_websocket_close(struct http_websocket *ws)
{
	if (!ws)
		return;
	ws->closing = true; /* from here on nothing waits */
	if (wslay_event_queue_close(ws->frames, WEBSOCKET_NORMAL, NULL, 0) == 0)
		(void)wslay_event_send(ws->frames);
	websocket_free_client(ws);
}
