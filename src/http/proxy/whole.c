/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/exchange.h"
#include "http/proxy/parts.h"
#include "http/server/http.h"
#include "http/server/reply.h"

/* Hop-by-hop fields, and fields that are written below. */
static bool is_left_out(const char *name)
{
	static const char *const left_out[] = {"Host",
	                                       "Expect",
	                                       "X-Request-Id",
	                                       "X-Forwarded-For",
	                                       "X-Forwarded-Proto",
	                                       "Origin",
	                                       PROXY_HOP_HEADER,
	                                       NULL};

	return head_name_is_of(name, left_out) || proxy_is_own_header(name);
}

static void add_client(struct buf *out, const struct request *rq, const struct proxy_options *o)
{
	const char *given = request_header(rq, "X-Forwarded-For");
	struct span peer = proxy_peer_address(rq->peer);

	buf_addf(out, "X-Forwarded-For: %s%s%.*s\r\n", given ? given : "", given ? ", " : "",
	         (int)peer.size, peer.data);
	reply_add_header(out, "X-Forwarded-Proto", o->is_https ? "https" : "http");
	reply_add_header(out, "X-Request-Id", rq->id);
	reply_add_header(out, PROXY_HOP_HEADER, o->hop);
}

/* One of Atoll's own pages keeps Atoll's address, whichever host name it used. */
static void add_host(struct buf *out, const struct proxy_options *o,
                     const struct proxy_asked *asked)
{
	const char *rest;

	reply_add_header(out, "Host", o->host ? o->host : asked->host ? asked->host : "localhost");
	if (asked->origin && o->host && proxy_is_own_origin(asked->origin, asked->host, &rest))
		buf_addf(out, "Origin: http://%s\r\n", o->host);
	else if (asked->origin)
		reply_add_header(out, "Origin", asked->origin);
}

static void add_framing(struct buf *out, const struct request *rq, const struct proxy_asked *asked)
{
	const struct http_head *head = &rq->exchange->head;
	const char *trailer = head_find(head, "Trailer");

	proxy_add_hop_fields(out, head, asked);
	if (asked->sends_chunked)
		buf_add_span(out, SPAN("Transfer-Encoding: chunked\r\n"));
	else if (asked->has_body && !asked->is_streamed)
		buf_addf(out, "Content-Length: %zu\r\n", rq->body.size);
	else if (head->content_length >= 0)
		buf_addf(out, "Content-Length: %lld\r\n", (long long)head->content_length);
	if (asked->sends_chunked && trailer)
		reply_add_header(out, "Trailer", trailer);
}

void proxy_write_whole(struct buf *out, const struct request *rq, const struct proxy_options *o,
                       const struct proxy_asked *asked)
{
	const struct http_head *head = &rq->exchange->head;
	const char *connection = head_find(head, "Connection");

	buf_addf(out, "%s %.*s HTTP/1.1\r\n", rq->method_name, (int)head->target.size,
	         head->target.data);
	add_host(out, o, asked);
	for (unsigned i = 0; i < head->field_count; i++) {
		const char *name = head->fields[i].name;

		if (!is_left_out(name) && !proxy_replaces_trace(rq, name) &&
		    !(connection && proxy_list_has(connection, span_of(name))))
			reply_add_header(out, name, head->fields[i].value);
	}
	add_client(out, rq, o);
	proxy_add_trace(out, rq);
	add_framing(out, rq, asked);
	buf_add_span(out, SPAN("\r\n"));
	if (!asked->is_streamed)
		buf_add_span(out, rq->body);
}
