/* SPDX-License-Identifier: Apache-2.0 */
/* Content codings of replies. */
#include <string.h>

#include "compression/compress.h"
#include "http/server/exchange.h"
#include "http/server/reply.h"

/* Smaller replies fit in a packet or two. */
#define CODED_MIN ((size_t)1024)
/* What the loop thread compresses itself: a larger reply would delay others. */
#define CODED_ON_LOOP_MAX ((size_t)16 * 1024)

/* "0.25" -> 250; 0 for a text that is no weight, as if the client refused the coding. */
static int parse_weight(struct span text)
{
	int weight = 0, scale = 1000;

	for (size_t i = 0; i < text.size && scale > 0; i++) {
		if (text.data[i] == '.' && i == 1)
			continue;
		if (text.data[i] < '0' || text.data[i] > '9')
			return 0;
		weight += (text.data[i] - '0') * scale;
		scale /= 10;
	}
	return weight < 1000 ? weight : 1000;
}

static int find_weight(struct span parameters)
{
	struct span part;

	while (parameters.size > 0) {
		(void)span_split(&parameters, ';', &part);
		part = span_trim(part);
		if (span_starts_with_word(part, "q="))
			return parse_weight(span_after(part, 2));
	}
	return 1000;
}

/* zstd only for a client that names it and does not prefer gzip. */
static bool choose_coding(const char *accept, enum compress_coding *ret)
{
	struct span rest = span_of(accept), item, name;
	int gzip = -1, zstd = 0, any = 0;

	while (rest.size > 0) {
		int weight;

		(void)span_split(&rest, ',', &item);
		(void)span_split(&item, ';', &name);
		name = span_trim(name);
		weight = find_weight(item);
		if (span_is_word(name, "gzip"))
			gzip = weight;
		else if (span_is_word(name, "zstd"))
			zstd = weight;
		else if (span_equals_text(name, "*"))
			any = weight;
	}
	if (gzip < 0)
		gzip = any;
	*ret = zstd > 0 && zstd >= gzip ? COMPRESS_ZSTD : COMPRESS_GZIP;
	return zstd > 0 || gzip > 0;
}

/* A reply with one of these is about exact bytes, or sets a secret. */
static bool has_fixed_bytes(const struct reply *reply)
{
	static const char *const names[] = {
	        "Content-Encoding: ", "Content-Range: ", "ETag: ", "Set-Cookie: "};
	struct span rest = buf_span(&reply->headers), line;

	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		for (size_t i = 0; i < COUNT_OF(names); i++)
			if (span_starts_with_word(line, names[i]))
				return true;
	}
	return false;
}

static bool is_codable(const struct http_exchange *ex)
{
	const struct reply *reply = &ex->reply;
	const struct request *rq = &ex->request;
	size_t size = reply->body.size;

	return size >= CODED_MIN && !(request_is_on_loop(rq) && size > CODED_ON_LOOP_MAX) &&
	       !(rq->route->flags & ROUTE_PLAIN) && reply->content_type && !reply->has_relay &&
	       span_starts_with_word(span_of(reply->content_type), "application/json") &&
	       !stream_is_accepted(ex) && !has_fixed_bytes(reply);
}

void reply_encode(struct http_exchange *ex)
{
	const char *accept = head_find(&ex->head, "Accept-Encoding");
	struct buf *body = &ex->reply.body;
	AUTO(buf_done) struct buf coded = BUF(body->size_max);
	enum compress_coding coding;
	struct buf plain;

	if (!is_codable(ex))
		return;
	reply_add_header(&ex->reply.headers, "Vary", "Accept-Encoding");
	if (!accept || !choose_coding(accept, &coding) ||
	    !compress_whole(coding, buf_span(body), &coded))
		return;
	reply_add_header(&ex->reply.headers, "Content-Encoding",
	                 coding == COMPRESS_ZSTD ? "zstd" : "gzip");
	plain = *body;
	*body = coded;
	coded = plain;
}
