/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include "http/server/exchange.h"
#include "http/proxy/parts.h"
#include "http/server/http.h"
#include "http/server/reply.h"

bool proxy_list_has(const char *list, struct span word)
{
	struct span rest = span_of(list), item;
	bool more = rest.size > 0;

	while (more) {
		more = span_split(&rest, ',', &item);
		if (span_is_same_word(span_trim(item), word))
			return true;
	}
	return false;
}

bool proxy_is_own_header(const char *name)
{
	static const char *const own[] = {"Connection",
	                                  "Keep-Alive",
	                                  "Proxy-Connection",
	                                  "Proxy-Authenticate",
	                                  "TE",
	                                  "Transfer-Encoding",
	                                  "Trailer",
	                                  "Proxy-Authorization",
	                                  "Upgrade",
	                                  "Content-Length",
	                                  NULL};

	return head_name_is_of(name, own);
}

/* Written anew below. */
bool proxy_is_replaced_header(const char *name)
{
	static const char *const replaced[] = {"Host",
	                                       "Expect",
	                                       "X-Forwarded-For",
	                                       "X-Forwarded-Proto",
	                                       "X-Forwarded-Host",
	                                       "Origin",
	                                       "Referer",
	                                       "X-Forwarded-Prefix",
	                                       "X-Forwarded-Port",
	                                       "Forwarded",
	                                       "Cookie",
	                                       "X-Real-IP",
	                                       NULL};

	return head_name_is_of(name, replaced);
}

bool proxy_replaces_trace(const struct request *rq, const char *name)
{
	return rq->exchange->trace.is_known && strcasecmp(name, "traceparent") == 0;
}

void proxy_add_trace(struct buf *out, const struct request *rq)
{
	char parent[TRACE_PARENT_SIZE];

	if (trace_format_parent(&rq->exchange->trace, parent))
		reply_add_header(out, "traceparent", parent);
}

bool proxy_is_own_cookie(struct span cookie, const char *mark)
{
	static const char *const prefixes[] = {"__Host-", "__Secure-"};

	/* A browser sends only the value of a cookie without a name, which may look like a name. */
	while (cookie.size && strchr(" \t=", cookie.data[0]))
		span_skip(&cookie, 1);
	for (size_t i = 0; i < COUNT_OF(prefixes); i++)
		if (cookie.size >= strlen(prefixes[i]) &&
		    strncasecmp(cookie.data, prefixes[i], strlen(prefixes[i])) == 0)
			span_skip(&cookie, strlen(prefixes[i]));
	return mark && span_starts_with(cookie, mark);
}

/* "a=1; b=2" without the platform's own cookies. */
static void add_cookies(struct buf *out, const char *cookies, const char *mark)
{
	struct span rest = span_of(cookies), cookie;
	const char *separator = "Cookie: ";
	bool more = rest.size > 0;

	while (more) {
		more = span_split(&rest, ';', &cookie);
		cookie = span_trim(cookie);
		if (!cookie.size || proxy_is_own_cookie(cookie, mark))
			continue;
		buf_add_text(out, separator);
		buf_add_span(out, cookie);
		separator = "; ";
	}
	if (separator[0] == ';')
		buf_add_span(out, SPAN("\r\n"));
}

bool proxy_is_own_origin(const char *text, const char *host, const char **ret_rest)
{
	size_t scheme = strncmp(text, "http://", 7) == 0    ? 7
	                : strncmp(text, "https://", 8) == 0 ? 8
	                                                    : 0;
	size_t size = host ? strlen(host) : 0;

	if (!scheme || !size || strncasecmp(text + scheme, host, size) != 0 ||
	    (text[scheme + size] && text[scheme + size] != '/'))
		return false;
	*ret_rest = text + scheme + size;
	return true;
}

/* Replaces Atoll's address by the upstream's own. A page in a sandboxed frame has the origin
 * "null". */
static void add_origin(struct buf *out, const struct proxy_options *o, const char *origin,
                       const char *host)
{
	const char *rest;

	if (!origin)
		return;
	if ((o->is_boxed && strcmp(origin, "null") == 0) ||
	    proxy_is_own_origin(origin, host, &rest))
		buf_addf(out, "Origin: http://localhost:%u\r\n", o->port);
	else
		reply_add_header(out, "Origin", origin);
}

/* The upstream gets none of Atoll's own addresses, which may contain a token. */
static void add_referer(struct buf *out, const struct proxy_options *o, const char *referer,
                        const char *host)
{
	const char *rest;

	if (!referer)
		return;
	if (!proxy_is_own_origin(referer, host, &rest))
		reply_add_header(out, "Referer", referer);
	else if (strncmp(rest, o->prefix.data ? o->prefix.data : "", o->prefix.size) == 0 &&
	         rest[o->prefix.size] == '/')
		buf_addf(out, "Referer: http://localhost:%u%s\r\n", o->port, rest + o->prefix.size);
}

struct span proxy_peer_address(const char *peer)
{
	const char *colon = strrchr(peer, ':');

	if (peer[0] == '[' && strchr(peer, ']'))
		return (struct span){peer + 1, (size_t)(strchr(peer, ']') - peer) - 1};
	return (struct span){peer, colon ? (size_t)(colon - peer) : strlen(peer)};
}

/* A server that checks a WebSocket's origin compares Origin, here the inner one, with
 * X-Forwarded-Host if present, else with Host. So it gets a matching forwarded host: the answer to
 * an upgrade contains no links, which would need the outer host. */
static const char *forwarded_host(const struct proxy_asked *asked)
{
	return asked->wants_upgrade && asked->origin ? NULL : asked->host;
}

static void add_forwarded(struct buf *out, const struct request *rq, const struct proxy_options *o,
                          const struct proxy_asked *asked)
{
	const char *host = forwarded_host(asked);
	struct span peer = proxy_peer_address(rq->peer);
	const char *given = request_header(rq, "X-Forwarded-For");
	const char *proto = o->is_https ? "https" : "http";
	bool is_v6 = span_find(peer, ':') >= 0;

	buf_addf(out, "X-Forwarded-For: %s%s%.*s\r\n", given ? given : "", given ? ", " : "",
	         (int)peer.size, peer.data);
	buf_addf(out, "X-Forwarded-Proto: %s\r\n", proto);
	if (host)
		reply_add_header(out, "X-Forwarded-Host", host);
	if (o->prefix.size)
		buf_addf(out, "X-Forwarded-Prefix: %.*s\r\n", (int)o->prefix.size, o->prefix.data);
	buf_addf(out, "Forwarded: for=%s%.*s%s;proto=%s", is_v6 ? "\"[" : "", (int)peer.size,
	         peer.data, is_v6 ? "]\"" : "", proto);
	if (host)
		buf_addf(out, ";host=\"%s\"", host);
	buf_add_span(out, SPAN("\r\n"));
}

void proxy_add_hop_fields(struct buf *out, const struct http_head *head,
                          const struct proxy_asked *asked)
{
	if (asked->wants_upgrade || asked->takes_trailers)
		buf_addf(out, "Connection: %s%s%s\r\n", asked->wants_upgrade ? "Upgrade" : "",
		         asked->wants_upgrade && asked->takes_trailers ? ", " : "",
		         asked->takes_trailers ? "TE" : "");
	if (asked->wants_upgrade)
		reply_add_header(out, "Upgrade", head->known[HEAD_UPGRADE]);
	if (asked->takes_trailers)
		reply_add_header(out, "TE", "trailers");
}

static void add_framing(struct buf *out, const struct request *rq, const struct proxy_asked *asked)
{
	const struct http_head *head = &rq->exchange->head;
	const char *trailer = head_find(head, "Trailer");

	proxy_add_hop_fields(out, head, asked);
	if (head->chunked)
		buf_add_span(out, SPAN("Transfer-Encoding: chunked\r\n"));
	if (head->chunked && trailer)
		reply_add_header(out, "Trailer", trailer);
	else if (head->content_length >= 0)
		buf_addf(out, "Content-Length: %lld\r\n", (long long)head->content_length);
}

bool request_wants_page(const struct request *rq)
{
	const char *to = request_header(rq, "Sec-Fetch-Dest");
	const char *accept = request_header(rq, "Accept");

	if (rq->method != HTTP_GET && rq->method != HTTP_HEAD && rq->method != HTTP_POST)
		return false;
	if (to)
		return strcmp(to, "document") == 0 || strcmp(to, "iframe") == 0 ||
		       strcmp(to, "frame") == 0 || strcmp(to, "embed") == 0 ||
		       strcmp(to, "object") == 0;
	return accept && strstr(accept, "text/html");
}

/* Programs do not say how they use an answer, and neither do browsers' scripts on an insecure
 * connection. */
static enum rewriter_kind kind_wanted(const struct request *rq)
{
	if (request_wants_page(rq))
		return REWRITER_PAGE;
	return request_header(rq, "Sec-Fetch-Dest") ? REWRITER_PART : REWRITER_ANY;
}

static bool wants_style(const struct request *rq)
{
	const char *to = request_header(rq, "Sec-Fetch-Dest");
	const char *accept = request_header(rq, "Accept");

	return to ? strcmp(to, "style") == 0 : accept && strncmp(accept, "text/css", 8) == 0;
}

/* TE is a hop-by-hop field, so the client names it in Connection as well (RFC 9110, 10.1.4). */
static bool takes_trailers(const struct http_head *head)
{
	const char *connection = head_find(head, "Connection"), *te = head_find(head, "TE");

	return !head->is_http10 && connection && te && proxy_list_has(connection, SPAN("TE")) &&
	       proxy_list_has(te, SPAN("trailers"));
}

void proxy_note_request(struct proxy_asked *ret, struct arena *a, const struct request *rq,
                        const struct proxy_options *o)
{
	const struct http_head *head = &rq->exchange->head;
	const char *origin = request_header(rq, "Origin"), *host = head->known[HEAD_HOST];

	/* Otherwise the body was read before. */
	bool is_streamed = rq->route->flags & ROUTE_STREAM_BODY;

	*ret = (struct proxy_asked){
	        .place = {.prefix = {arena_copy(a, o->prefix), o->prefix.size},
	                  .document = {arena_copy(a, o->target), o->target.size},
	                  .port = o->port},
	        .origin = origin ? arena_text(a, origin) : NULL,
	        .host = host ? arena_text(a, host) : NULL,
	        .cookie_mark = o->cookie_mark,
	        .is_head = rq->method == HTTP_HEAD,
	        .is_boxed = o->is_boxed,
	        .wants_upgrade = head->upgrade && head->known[HEAD_UPGRADE] && !head->is_http10,
	        .takes = kind_wanted(rq),
	        .takes_style = wants_style(rq),
	        .has_body = head->chunked || head->content_length > 0,
	        .sends_chunked = head->chunked && is_streamed,
	        .takes_trailers = takes_trailers(head),
	        .is_streamed = is_streamed,
	        .is_whole = o->hop != NULL,
	        .has_shares = o->hop && rq->exchange->origin,
	};
	ret->is_safe = !ret->has_body && (rq->method == HTTP_GET || rq->method == HTTP_HEAD ||
	                                  rq->method == HTTP_OPTIONS);
}

bool proxy_asks_as_is(const struct proxy_asked *asked)
{
	return asked->place.prefix.size && (asked->takes == REWRITER_PAGE || asked->takes_style);
}

void proxy_write_request(struct buf *out, const struct request *rq, const struct proxy_options *o,
                         const struct proxy_asked *asked)
{
	const struct http_head *head = &rq->exchange->head;
	const char *connection = head_find(head, "Connection");
	bool as_is = proxy_asks_as_is(asked);

	buf_addf(out, "%s %.*s HTTP/1.1\r\n", rq->method_name, (int)o->target.size, o->target.data);
	if (o->host && reply_header_is_valid("X", o->host))
		reply_add_header(out, "Host", o->host);
	else
		buf_addf(out, "Host: localhost:%u\r\n", o->port);
	for (unsigned i = 0; i < head->field_count; i++) {
		const char *name = head->fields[i].name;

		if (strcasecmp(name, "Cookie") == 0)
			add_cookies(out, head->fields[i].value, o->cookie_mark);
		if (proxy_is_own_header(name) || proxy_is_replaced_header(name) ||
		    head_name_is_of(name, o->withheld) || proxy_replaces_trace(rq, name) ||
		    (connection && proxy_list_has(connection, span_of(name))) ||
		    (as_is && strcasecmp(name, "Accept-Encoding") == 0))
			continue;
		reply_add_header(out, name, head->fields[i].value);
	}
	if (as_is)
		buf_add_span(out, SPAN("Accept-Encoding: identity\r\n"));
	add_origin(out, o, asked->origin, asked->host);
	add_referer(out, o, request_header(rq, "Referer"), asked->host);
	add_forwarded(out, rq, o, asked);
	proxy_add_trace(out, rq);
	add_framing(out, rq, asked);
	buf_add_span(out, SPAN("\r\n"));
}
