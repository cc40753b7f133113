/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/reply.h"

#include "http/server/cors.h"
#include "http/server/exchange.h"
#include "http/server/server_state.h"

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

void reply_tell(struct http_exchange *ex, int status)
{
	const struct server_options *options = &ex->server->options;

	if (options->on_answer)
		options->on_answer(&ex->request, status);
}

void reply_write_head(struct buf *out, struct http_exchange *ex, const struct reply_head *head)
{
	if (!ex->is_streamed)
		reply_tell(ex, head->status);
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
