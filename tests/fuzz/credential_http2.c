/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox and a host send to the credential proxy, in each pair of versions of HTTP: byte 0
 * says which, then come pieces, each with a byte for its side and size. A host of HTTP/1.1 gets
 * whole requests to itself alone; no client gets the value. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "credential/authority.h"
#include "credential/h1/h1.h"
#include "credential/h2/h2.h"
#include "credential/passage/guard.h"
#include "credential/passage/passage.h"
#include "credential/passage/wire.h"
#include "credential/proxy/proxy.h" /* is linked with all of them */
#include "http/message/body.h"

#define VALUE "v4lue-of-a-credential"
#define HOST "api.example.com"
#define OUT_MAX ((size_t)4 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct side {
	struct wire *wire;
	struct buf in, out, all; /* all: what was ever sent */
};

static struct guard *make_guard(void)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf text = BUF(256 * 1024);
	const char *certificate, *key;
	struct guard *g;
	struct error err = {0};

	if (credential_authority_make(&a, "aaaaaaaaaaaaaaaaaaaa", &certificate, &key, &err) < 0)
		abort();
	buf_add_text(&text,
	             "{\"sandbox\":\"aaaaaaaaaaaaaaaaaaaa\",\"credentials\":[{\"name\":\"c\","
	             "\"hosts\":[\"" HOST "\"],\"fields\":{\"v\":\"" VALUE "\"}}],"
	             "\"rules\":[{\"host\":\"" HOST "\",\"action\":\"deny\",\"match\":"
	             "{\"path\":{\"prefix\":\"/no\"}}},{\"host\":\"" HOST "\","
	             "\"action\":\"inject\",\"websocket\":true,\"inject\":[{\"kind\":"
	             "\"header\",\"name\":\"x-key\",\"value\":\"${credential.c.v}\"}]}],"
	             "\"ca_certificate\":");
	json_write_text(&text, span_of(certificate));
	buf_add_text(&text, ",\"ca_key\":");
	json_write_text(&text, span_of(key));
	buf_add_text(&text, "}");
	if (guard_new(buf_span(&text), &g, &err) < 0)
		abort();
	return g;
}

static void drop_report(UNUSED void *context, UNUSED const struct network_decision *d)
{
}

static void note_output(struct side *side)
{
	buf_add_span(&side->all, buf_span(&side->out));
	buf_reset(&side->out);
	assert(!memmem(side->all.data, side->all.size, VALUE, strlen(VALUE)) ||
	       side->wire->calls->forget);
}

/* As the proxy does it. False: the connection is over. */
static bool move_once(struct side *client, struct side *host)
{
	bool goes_on =
	        client->wire->calls->read(client->wire) && host->wire->calls->write(host->wire) &&
	        host->wire->calls->read(host->wire) && client->wire->calls->write(client->wire);

	note_output(client);
	note_output(host);
	return goes_on;
}

static void add_input(struct side *side, struct span *rest, size_t size)
{
	struct span piece = span_take(rest, size);

	if (side->wire->calls->wants(side->wire))
		buf_add_span(&side->in, piece);
}

/* A server may take a trailer for a header. */
static void check_trailers(struct buf *trailers)
{
	static const char *const never[] = {"host",   "content-length", "transfer-encoding",
	                                    "cookie", "authorization",  "x-key",
	                                    NULL};
	struct span rest = buf_span(trailers), line, name;

	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		(void)span_split(&line, ':', &name);
		for (size_t i = 0; never[i]; i++)
			assert(!span_is_word(span_trim(name), never[i]));
	}
	buf_done(trailers);
}

/* One request after the other, each to the host, and nothing between them. */
static void check_requests(struct buf *all)
{
	struct span rest = buf_span(all), piece;
	struct body_reader body;
	struct http_head head;
	enum body_result result;

	while (rest.size > 0) {
		struct buf trailers = BUF(BODY_TRAILER_LINES_MAX);
		size_t scanned = 0, size = 0;

		assert(head_find_end(rest, &scanned, &size) == FAULT_NONE);
		if (size == 0)
			return;
		char *text = malloc(size + 1);

		assert(text);
		memcpy(text, rest.data, size);
		if (head_parse(text, size, &head) != FAULT_NONE) {
			free(text);
			return; /* it has grown past what a head may have */
		}
		assert(strcmp(head.known[HEAD_HOST], HOST) == 0 && head_find(&head, "x-key"));
		assert(!span_equals_text(head.target, "/no") &&
		       !span_starts_with(head.target, "/no/") &&
		       !span_starts_with(head.target, "/no?"));
		span_skip(&rest, size);
		body_start(&body, head.chunked, head.content_length);
		body.trailers = &trailers;
		if (head.upgrade)
			rest.size = 0;
		free(text);
		do
			result = body_next(&body, &rest, &piece);
		while (result == BODY_PIECE);
		assert(result != BODY_BAD);
		check_trailers(&trailers);
	}
}

static void done_side(struct side *side)
{
	side->wire->calls->free(side->wire);
	buf_done(&side->in);
	buf_done(&side->out);
	buf_done(&side->all);
}

static void open_side(struct side *side, struct passage_connection *c,
                      struct wire *(*make)(const struct wire *))
{
	const struct wire base = {.connection = c, .in = &side->in, .out = &side->out};

	*side = (struct side){.in = BUF(OUT_MAX), .out = BUF(OUT_MAX), .all = BUF(OUT_MAX * 4)};
	side->wire = make(&base);
	assert(side->wire);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char greeting[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
	static const char settings[] = "\0\0\0\4\0\0\0\0";
	static struct guard *guard;
	struct span rest = {(const char *)data, size};
	struct side client, host;
	struct passage_connection c;

	guard = guard ? guard : make_guard();
	if (size == 0)
		return 0;
	bool client_is_http2 = data[0] & 1, host_is_http2 = data[0] & 2;

	c = (struct passage_connection){.guard = guard,
	                                .host = HOST,
	                                .now_ms = 1,
	                                .report = drop_report,
	                                .host_is_http2 = host_is_http2};
	passage_connection_init(&c);
	open_side(&client, &c, client_is_http2 ? h2_client_new : h1_client_new);
	open_side(&host, &c, host_is_http2 ? h2_host_new : h1_host_new);
	c.client = client.wire;
	c.host_wire = host.wire;
	if (client_is_http2)
		buf_add(&client.in, greeting, sizeof(greeting));
	if (host_is_http2)
		buf_add(&host.in, settings, sizeof(settings));
	span_skip(&rest, 1);
	while (move_once(&client, &host) && rest.size > 0) {
		unsigned char mark = (unsigned char)rest.data[0];

		span_skip(&rest, 1);
		add_input(mark & 1 ? &host : &client, &rest, (size_t)(mark >> 1) * 4);
		c.now_ms += mark;
	}
	if (!host_is_http2)
		check_requests(&host.all);
	c.host_wire = NULL;
	passage_connection_done(&c);
	done_side(&client);
	done_side(&host);
	return 0;
}
