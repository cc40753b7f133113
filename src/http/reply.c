/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <fcntl.h>
#include <strings.h>
#include <unistd.h>

#include "http/cors.h"
#include "http/exchange.h"
#include "http/server.h"
#include "http/websocket.h"

static const struct {
	int status;
	struct span line;
} status_lines[] = {
        {200, SPAN("HTTP/1.1 200 OK\r\n")},
        {101, SPAN("HTTP/1.1 101 Switching Protocols\r\n")},
        {201, SPAN("HTTP/1.1 201 Created\r\n")},
        {202, SPAN("HTTP/1.1 202 Accepted\r\n")},
        {204, SPAN("HTTP/1.1 204 No Content\r\n")},
        {206, SPAN("HTTP/1.1 206 Partial Content\r\n")},
        {301, SPAN("HTTP/1.1 301 Moved Permanently\r\n")},
        {302, SPAN("HTTP/1.1 302 Found\r\n")},
        {303, SPAN("HTTP/1.1 303 See Other\r\n")},
        {304, SPAN("HTTP/1.1 304 Not Modified\r\n")},
        {307, SPAN("HTTP/1.1 307 Temporary Redirect\r\n")},
        {308, SPAN("HTTP/1.1 308 Permanent Redirect\r\n")},
        {400, SPAN("HTTP/1.1 400 Bad Request\r\n")},
        {401, SPAN("HTTP/1.1 401 Unauthorized\r\n")},
        {402, SPAN("HTTP/1.1 402 Payment Required\r\n")},
        {403, SPAN("HTTP/1.1 403 Forbidden\r\n")},
        {404, SPAN("HTTP/1.1 404 Not Found\r\n")},
        {405, SPAN("HTTP/1.1 405 Method Not Allowed\r\n")},
        {408, SPAN("HTTP/1.1 408 Request Timeout\r\n")},
        {409, SPAN("HTTP/1.1 409 Conflict\r\n")},
        {410, SPAN("HTTP/1.1 410 Gone\r\n")},
        {412, SPAN("HTTP/1.1 412 Precondition Failed\r\n")},
        {413, SPAN("HTTP/1.1 413 Content Too Large\r\n")},
        {414, SPAN("HTTP/1.1 414 URI Too Long\r\n")},
        {415, SPAN("HTTP/1.1 415 Unsupported Media Type\r\n")},
        {416, SPAN("HTTP/1.1 416 Range Not Satisfiable\r\n")},
        {417, SPAN("HTTP/1.1 417 Expectation Failed\r\n")},
        {421, SPAN("HTTP/1.1 421 Misdirected Request\r\n")},
        {422, SPAN("HTTP/1.1 422 Unprocessable Content\r\n")},
        {429, SPAN("HTTP/1.1 429 Too Many Requests\r\n")},
        {431, SPAN("HTTP/1.1 431 Request Header Fields Too Large\r\n")},
        {500, SPAN("HTTP/1.1 500 Internal Server Error\r\n")},
        {501, SPAN("HTTP/1.1 501 Not Implemented\r\n")},
        {502, SPAN("HTTP/1.1 502 Bad Gateway\r\n")},
        {503, SPAN("HTTP/1.1 503 Service Unavailable\r\n")},
        {504, SPAN("HTTP/1.1 504 Gateway Timeout\r\n")},
        {505, SPAN("HTTP/1.1 505 HTTP Version Not Supported\r\n")},
        {507, SPAN("HTTP/1.1 507 Insufficient Storage\r\n")},
};

static void add_status_line(struct buf *out, int status)
{
	for (size_t i = 0; i < COUNT_OF(status_lines); i++) {
		if (status_lines[i].status == status) {
			buf_add_span(out, status_lines[i].line);
			return;
		}
	}
	buf_addf(out, "HTTP/1.1 %d Status\r\n", status);
}

static void add_number(struct buf *out, int64_t number)
{
	char digits[24];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	buf_add(out, digits + at, sizeof(digits) - at);
}

bool reply_status_has_body(int status)
{
	return status >= 200 && status != 204 && status != 304;
}

static void add_framing(struct buf *out, const struct http_exchange *ex,
                        const struct reply_head *head)
{
	if (head->framing == REPLY_SWITCH)
		return;
	if (reply_status_has_body(head->status) && head->framing == REPLY_LENGTH) {
		buf_add_span(out, SPAN("Content-Length: "));
		add_number(out, head->length);
		buf_add_span(out, SPAN("\r\n"));
	} else if (reply_status_has_body(head->status) && head->framing == REPLY_CHUNKED) {
		buf_add_span(out, SPAN("Transfer-Encoding: chunked\r\n"));
	}
	if (!head->keep_alive)
		buf_add_span(out, SPAN("Connection: close\r\n"));
	else if (ex->head.is_http10)
		buf_add_span(out, SPAN("Connection: keep-alive\r\n"));
}

void reply_write_head(struct buf *out, const struct http_exchange *ex,
                      const struct reply_head *head)
{
	(void)buf_reserve(out, 512 + ex->reply.headers.size);
	add_status_line(out, head->status);
	if (head->content_type && reply_status_has_body(head->status)) {
		buf_add_span(out, SPAN("Content-Type: "));
		buf_add_text(out, head->content_type);
		buf_add_span(out, SPAN("\r\n"));
	}
	add_framing(out, ex, head);
	buf_add_span(out, server_date_line(ex->server));
	buf_add_span(out, SPAN("X-Request-Id: "));
	buf_add_text(out, ex->request.id);
	buf_add_span(out, SPAN("\r\n"));
	cors_write(out, ex);
	buf_add_span(out, buf_span(&ex->reply.headers));
	buf_add_span(out, SPAN("\r\n"));
}

static bool text_is_clean(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
			return false;
	return true;
}

bool reply_header_is_valid(const char *name, const char *value)
{
	static const char *const own[] = {
	        "Content-Length", "Transfer-Encoding", "Connection", "Content-Type", "Date",
	        "X-Request-Id",   "Keep-Alive",        "Trailer",    "Upgrade"};

	for (size_t i = 0; i < COUNT_OF(own); i++)
		if (strcasecmp(own[i], name) == 0)
			return false;
	for (const char *c = name; *c; c++)
		if (*c <= 0x20 || *c >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", *c))
			return false;
	return name[0] && text_is_clean(value);
}

void reply_add_header(struct buf *headers, const char *name, const char *value)
{
	buf_add_text(headers, name);
	buf_add_span(headers, SPAN(": "));
	buf_add_text(headers, value);
	buf_add_span(headers, SPAN("\r\n"));
}

/* ---- what handlers call ---- */

void reply_status(struct reply *reply, int status)
{
	assert(status >= 200 && status <= 599);
	reply->status = status;
}

void reply_header(struct reply *reply, const char *name, const char *value)
{
	assert(reply_header_is_valid(name, value));
	reply_add_header(&reply->headers, name, value);
}

struct buf *reply_buf(struct reply *reply, const char *content_type)
{
	assert(text_is_clean(content_type));
	reply->content_type = content_type;
	return &reply->body;
}

void reply_json(struct reply *reply, const struct json_shape *shape, const void *value)
{
	json_write(reply_buf(reply, "application/json"), shape, value);
}

void reply_text(struct reply *reply, const char *content_type, struct span text)
{
	buf_add_span(reply_buf(reply, content_type), text);
}

void reply_relay(struct reply *reply, const struct relay_options *options)
{
	struct http_exchange *ex = CONTAINER_OF(reply, struct http_exchange, reply);
	struct span first = options->upstream_first;

	assert(!reply->has_relay && options->ops && options->ops->release);
	reply->relay = *options;
	reply->has_relay = true;
	if (first.size)
		reply->relay.upstream_first =
		        (struct span){arena_copy(&ex->arena, first), first.size};
}

int reply_websocket(struct request *rq, struct reply *reply, const char *protocol,
                    const struct relay_options *options, struct error *err)
{
	const struct http_head *head = &rq->exchange->head;
	const char *upgrade = head->known[HEAD_UPGRADE], *key = head->known[HEAD_WEBSOCKET_KEY];
	const char *version = head->known[HEAD_WEBSOCKET_VERSION];

	/* First, so that the descriptor and the state have an owner also when this fails. */
	reply_relay(reply, options);
	if (rq->method != HTTP_GET || head->is_http10 || !head->upgrade || !upgrade ||
	    strcasecmp(upgrade, "websocket") != 0)
		return FAIL(err, ERROR_INVALID, "this path wants a WebSocket upgrade");
	if (!version || strcmp(version, "13") != 0)
		return FAIL(err, ERROR_INVALID, "Sec-WebSocket-Version is not 13");
	if (!key || !websocket_key_is_valid(key))
		return FAIL(err, ERROR_INVALID, "Sec-WebSocket-Key is not 16 bytes of base 64");
	if (head->chunked || head->content_length > 0)
		return FAIL(err, ERROR_INVALID, "a WebSocket upgrade has no body");
	assert(!protocol || reply_header_is_valid("Sec-WebSocket-Protocol", protocol));
	reply->is_websocket = true;
	reply->protocol = protocol ? arena_text(&rq->exchange->arena, protocol) : NULL;
	return 0;
}
