/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "credential/passage/passage.h"
#include "credential/passage/wire.h"
#include "credential/h1/h1.h"
#include "credential/h1/trailers.h"
#include "http/message/body.h"

struct h1_client {
	struct wire wire; /* first */
	size_t scanned;   /* of the head in `in` */
	struct passage *current;
	struct body_reader body;
	struct buf trailers;
	bool is_http10, keeps_alive, answer_is_chunked;
};

static struct h1_client *client_of(struct wire *w)
{
	return CONTAINER_OF(w, struct h1_client, wire);
}

static struct passage *begin_passage(struct h1_client *h)
{
	struct passage *x = passage_new(h->wire.connection);

	x->client_stream = 1;
	h->current = x;
	h->keeps_alive = false;
	h->answer_is_chunked = false;
	h->is_http10 = false;
	h->scanned = 0;
	buf_reset(&h->trailers);
	return x;
}

static void take_head(struct h1_client *h, size_t size)
{
	struct passage *x = begin_passage(h);
	char *text = arena_copy(&x->arena, (struct span){h->wire.in->data, size});
	bool is_sound = head_parse(text, size, &x->head) == FAULT_NONE;

	buf_consume(h->wire.in, size);
	if (!is_sound) {
		x->head = (struct http_head){.method = NULL};
		passage_refuse(x, DECISION_BAD_REQUEST);
		return;
	}
	h->is_http10 = x->head.is_http10;
	h->keeps_alive = x->head.keep_alive;
	body_start(&h->body, x->head.chunked, x->head.content_length);
	h->body.trailers = &h->trailers;
	passage_take_request(x);
}

static void begin_request(struct h1_client *h)
{
	struct span in = buf_span(h->wire.in);
	size_t size = 0;
	enum http_fault fault;

	if (in.size == 0)
		return;
	fault = head_find_end(in, &h->scanned, &size);
	if (!fault)
		fault = head_check_size(in, size, PASSAGE_HEAD_MAX);
	if (fault)
		passage_refuse(begin_passage(h), DECISION_BAD_REQUEST);
	else if (size > 0)
		take_head(h, size);
}

static size_t room_of(const struct passage *x)
{
	size_t most =
	        x->request_state == REQUEST_GATHERED ? SIGNED_BODY_MAX + 1 : PASSAGE_QUEUE_MAX;

	return passage_unsent(&x->request) < most ? most - passage_unsent(&x->request) : 0;
}

static bool end_body(struct h1_client *h, struct passage *x)
{
	struct http_head head;

	if (h1_trailers_read(&h->trailers, &x->arena, &head))
		passage_take_request_trailers(x, &head);
	return passage_end_request(x);
}

/* False when the body is malformed. A request that is refused has its answer, so that the rest of
 * its body is dropped. */
static bool move_body(struct h1_client *h)
{
	struct passage *x = h->current;
	struct span rest = buf_span(h->wire.in), piece;
	enum body_result result = BODY_MORE;

	while (x->request_state != REQUEST_OVER && room_of(x) > 0) {
		result = body_next(&h->body, &rest, &piece);
		if (result != BODY_PIECE)
			break;
		if (!passage_add_request(x, piece))
			h->keeps_alive = false;
	}
	buf_consume(h->wire.in, h->wire.in->size - rest.size);
	if (result == BODY_END && !end_body(h, x))
		h->keeps_alive = false;
	return result != BODY_BAD;
}

static bool read_client(struct wire *w)
{
	struct h1_client *h = client_of(w);
	struct passage *x;

	if (w->is_closing) {
		buf_reset(w->in);
		return true;
	}
	if (!h->current)
		begin_request(h);
	x = h->current;
	if (x && x->answer_state == ANSWER_TUNNEL) {
		bool is_taken = passage_add_request(x, buf_span(w->in));

		buf_reset(w->in);
		return is_taken;
	}
	return !x || x->request.has_ended || x->request_state == REQUEST_OVER || move_body(h);
}

static bool client_wants(const struct wire *w)
{
	const struct h1_client *h = (const struct h1_client *)w; /* its first member */
	const struct passage *x = h->current;

	if (w->is_closing)
		return true; /* and dropped, so that the answer is not lost with a reset */
	return x && x->answer_state == ANSWER_TUNNEL ? room_of(x) > 0
	                                             : w->in->size < PASSAGE_HEAD_MAX;
}

/* A connection whose request is not whole, or whose host takes no other one, is not used again. */
static bool stays_open(const struct h1_client *h)
{
	const struct wire *host = h->wire.connection->host_wire;

	return h->keeps_alive && host && !host->is_closing;
}

static void write_framing(struct h1_client *h, const struct passage_head *head)
{
	struct buf *out = h->wire.out;

	if (head->is_upgrade) {
		buf_add_text(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
		return;
	}
	if (head->status / 100 == 1) {
		buf_add_text(out, "\r\n");
		return;
	}
	h->keeps_alive = stays_open(h);
	if (head->content_length >= 0) {
		buf_addf(out, "Content-Length: %lld\r\n", (long long)head->content_length);
	} else if (head->has_body && head->is_whole) {
		buf_add_text(out, "Content-Length: 0\r\n");
	} else if (head->has_body && !h->is_http10) {
		h->answer_is_chunked = true;
		buf_add_text(out, "Transfer-Encoding: chunked\r\n");
	} else if (head->has_body) {
		h->keeps_alive = false;
	}
	buf_add_text(out, h->keeps_alive ? "Connection: keep-alive\r\n\r\n"
	                                 : "Connection: close\r\n\r\n");
}

static void write_head(struct wire *w, UNUSED struct passage *x, const struct passage_head *head)
{
	buf_addf(w->out, "HTTP/1.1 %d%s%s\r\n", head->status, head->reason[0] ? " " : "",
	         head->reason);
	for (size_t i = 0; i < head->count; i++)
		buf_addf(w->out, "%s: %s\r\n", head->fields[i].name, head->fields[i].value);
	write_framing(client_of(w), head);
}

static void write_body(struct h1_client *h, struct passage *x)
{
	struct buf *out = h->wire.out;
	struct span piece = passage_ready(&x->answer);

	if (piece.size == 0 || out->size >= WIRE_OUT_MAX)
		return;
	piece = span_take(&piece, WIRE_OUT_MAX - out->size);
	if (h->answer_is_chunked)
		buf_addf(out, "%zx\r\n", piece.size);
	buf_add_span(out, piece);
	if (h->answer_is_chunked)
		buf_add_text(out, "\r\n");
	passage_sent(&x->answer, piece.size);
	h->wire.connection->progress += piece.size;
}

static void write_end(struct h1_client *h, const struct passage *x)
{
	if (h->answer_is_chunked)
		h1_trailers_write(h->wire.out, x->trailers,
		                  x->draft.wants_trailers ? x->trailer_count : 0);
}

/* A request that was refused, or is not sent as a whole, is the last one. */
static void end_passage(struct h1_client *h)
{
	struct passage *x = h->current;

	write_end(h, x);
	if (!stays_open(h) || x->answer_state == ANSWER_TUNNEL || !x->request.has_ended ||
	    x->request_state != REQUEST_OVER)
		h->wire.is_closing = true;
	passage_free(x);
	h->current = NULL;
}

static bool write_client(struct wire *w)
{
	struct h1_client *h = client_of(w);
	struct passage *x = h->current;

	if (x && x->is_cut && x->answer_state == ANSWER_NONE) {
		x->is_cut = false;
		passage_refuse(x, DECISION_UPSTREAM_UNREACHABLE);
	}
	if (x && x->is_cut)
		return false;
	if (x && x->answer_state != ANSWER_NONE) {
		write_body(h, x);
		if (passage_is_drained(&x->answer))
			end_passage(h);
	}
	if (!h->current && w->connection->host_wire && w->connection->host_wire->is_closing)
		w->is_closing = true;
	return true;
}

/* A client that said all may still wait for its answer. */
static bool end_client(struct wire *w)
{
	const struct h1_client *h = client_of(w);
	const struct passage *x = h->current;

	if (w->out->size > 0)
		return true;
	if (w->is_closing || !x)
		return false;
	if (x->answer_state == ANSWER_TUNNEL)
		return passage_unsent(&x->request) > 0;
	return x->request.has_ended || x->request_state == REQUEST_OVER || w->in->size > 0;
}

static void free_client(struct wire *w)
{
	struct h1_client *h = client_of(w);

	buf_done(&h->trailers);
	free(h);
}

struct wire *h1_client_new(const struct wire *base)
{
	static const struct wire_calls calls = {.read = read_client,
	                                        .write = write_client,
	                                        .wants = client_wants,
	                                        .on_end = end_client,
	                                        .on_head = write_head,
	                                        .free = free_client};
	struct h1_client *h = memory_new(sizeof(*h));

	h->wire = *base;
	h->wire.calls = &calls;
	h->trailers = BUF(BODY_TRAILER_LINES_MAX);
	return &h->wire;
}
