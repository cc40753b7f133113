/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/reply.h"

#include <assert.h>
#include <fcntl.h>
#include <strings.h>

#include "http/server/exchange.h"
#include "http/message/websocket.h"
#include "json/json.h"

bool reply_status_has_body(int status)
{
	return status >= 200 && status != 204 && status != 304;
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
	        "X-Request-Id",   "Keep-Alive",        "Trailer",    "Upgrade",      NULL};

	if (head_name_is_of(name, own))
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
