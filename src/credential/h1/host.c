/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "credential/passage/passage.h"
#include "credential/passage/wire.h"
#include "credential/h1/h1.h"
#include "credential/h1/trailers.h"
#include "http/message/body.h"

/* What is expected of the host. */
enum host_state { HOST_IDLE, HOST_HEAD, HOST_BODY, HOST_TO_END, HOST_TUNNEL };

struct h1_host {
	struct wire wire; /* first */
	size_t scanned;
	struct passage *current; /* NULL in HOST_IDLE */
	struct body_reader body;
	struct buf trailers;
	enum host_state state;
};

static struct h1_host *host_of(struct wire *w)
{
	return CONTAINER_OF(w, struct h1_host, wire);
}

static void begin_passage(struct h1_host *h)
{
	LIST_EACH (&h->wire.connection->passages, struct passage, x, link) {
		if (x->request_state != REQUEST_READY)
			continue;
		draft_write(h->wire.out, &x->draft);
		x->request_state = REQUEST_TAKEN;
		x->host_stream = 1;
		h->current = x;
		h->state = HOST_HEAD;
		return;
	}
}

static void write_body(struct h1_host *h, struct passage *x)
{
	bool is_chunked = x->head.chunked && h->state != HOST_TUNNEL;
	struct buf *out = h->wire.out;
	struct span rest = passage_ready(&x->request), piece;

	if (rest.size > 0 && out->size < WIRE_OUT_MAX) {
		piece = span_take(&rest, WIRE_OUT_MAX - out->size);
		if (is_chunked)
			buf_addf(out, "%zx\r\n", piece.size);
		buf_add_span(out, piece);
		if (is_chunked)
			buf_add_text(out, "\r\n");
		passage_sent(&x->request, piece.size);
		h->wire.connection->progress += piece.size;
	}
	if (!passage_is_drained(&x->request) || h->state == HOST_TUNNEL)
		return;
	if (is_chunked)
		h1_trailers_write(out, x->request_trailers, x->request_trailer_count);
	x->request_state = REQUEST_OVER;
}

/* Exchanges that wait may be tried again on another connection. */
static void return_waiting(struct h1_host *h)
{
	LIST_EACH (&h->wire.connection->passages, struct passage, x, link)
		if (x->request_state == REQUEST_READY || x->request_state == REQUEST_GATHERED)
			passage_return(x);
}

static bool write_host(struct wire *w)
{
	struct h1_host *h = host_of(w);

	if (!h->current && !w->is_closing)
		begin_passage(h);
	if (h->current && (h->current->request_state == REQUEST_TAKEN || h->state == HOST_TUNNEL))
		write_body(h, h->current);
	if (w->is_closing && !h->current)
		return_waiting(h);
	return true;
}

static void let_go(struct h1_host *h)
{
	h->current->host_stream = 0;
	h->current = NULL;
	h->state = HOST_IDLE;
	buf_reset(&h->trailers);
}

/* What the host sends after this cannot be told from an answer to another request. */
static void fail_answer(struct h1_host *h)
{
	struct passage *x = h->current;

	h->wire.is_closing = true;
	buf_reset(h->wire.in);
	let_go(h);
	passage_fail(x, DECISION_UPSTREAM_UNREACHABLE, WIRE_INTERNAL_ERROR);
}

static const char *reason_of(struct arena *a, struct span raw)
{
	struct span line;

	(void)span_split(&raw, '\r', &line);
	line = span_after(line, strlen("HTTP/1.x 200"));
	return arena_copy(a, span_trim(line));
}

static void expect_body(struct h1_host *h, const struct http_head *head)
{
	struct passage *x = h->current;
	bool has_body =
	        head->status != 204 && head->status != 304 && strcmp(x->head.method, "HEAD") != 0;

	body_start(&h->body, has_body && head->chunked, has_body ? head->content_length : 0);
	if (x->draft.wants_trailers)
		h->body.trailers = &h->trailers;
	h->state = has_body && !head->chunked && head->content_length < 0 ? HOST_TO_END : HOST_BODY;
	if (!head->keep_alive || h->state == HOST_TO_END)
		h->wire.is_closing = true;
}

/* 1 = a head was taken, 0 = it has not come, -1 = it is malformed. */
static int take_head(struct h1_host *h)
{
	struct passage *x = h->current;
	struct span in = buf_span(h->wire.in);
	struct http_head head;
	size_t size = 0;
	enum http_fault fault = head_find_end(in, &h->scanned, &size);

	if (!fault)
		fault = head_check_size(in, size, PASSAGE_HEAD_MAX);
	if (fault)
		return -1;
	if (size == 0)
		return 0;
	if (!passage_keep_head(x, size)) /* 1xx without end */
		return -1;
	in.size = size;
	char *text = arena_copy(&x->arena, in);

	if (head_parse_answer(text, size, &head) != FAULT_NONE)
		return -1;
	if (head.status == 101)
		h->state = HOST_TUNNEL;
	else if (head.status / 100 != 1)
		expect_body(h, &head);
	if (!passage_take_answer(x, &head, reason_of(&x->arena, in)))
		return -1;
	buf_consume(h->wire.in, size);
	h->scanned = 0;
	return 1;
}

static void take_trailers(struct h1_host *h)
{
	struct passage *x = h->current;
	struct http_head head;

	if (h1_trailers_read(&h->trailers, &x->arena, &head))
		passage_take_trailers(x, &head);
}

/* An answer before the whole request was sent: the rest would be read as another request. */
static void end_answer(struct h1_host *h)
{
	struct passage *x = h->current;

	take_trailers(h);
	if (x->request_state != REQUEST_OVER)
		h->wire.is_closing = true;
	let_go(h);
	passage_end_answer(x);
}

static void take_body(struct h1_host *h)
{
	struct passage *x = h->current;
	struct span rest = buf_span(h->wire.in), piece;
	enum body_result result = BODY_MORE;

	while (passage_unsent(&x->answer) < PASSAGE_QUEUE_MAX) {
		result = body_next(&h->body, &rest, &piece);
		if (result != BODY_PIECE)
			break;
		if (!passage_add_answer(x, piece)) {
			result = BODY_BAD;
			break;
		}
	}
	buf_consume(h->wire.in, h->wire.in->size - rest.size);
	if (result == BODY_END)
		end_answer(h);
	else if (result == BODY_BAD)
		fail_answer(h);
}

static bool read_host(struct wire *w)
{
	struct h1_host *h = host_of(w);
	int got = 1;

	while (h->state == HOST_HEAD && got > 0 && w->in->size > 0)
		got = take_head(h);
	if (got < 0) {
		fail_answer(h);
		return true;
	}
	switch (h->state) {
	case HOST_IDLE:
		/* Nothing was asked: an answer now could be taken for that of the next request. */
		return w->in->size == 0 || w->is_closing;
	case HOST_HEAD:
		return true;
	case HOST_BODY:
		take_body(h);
		return true;
	case HOST_TO_END:
	case HOST_TUNNEL:
		break;
	}
	if (w->in->size > 0 && !passage_add_answer(h->current, buf_span(w->in)))
		fail_answer(h);
	buf_reset(w->in);
	return true;
}

static bool host_wants(const struct wire *w)
{
	const struct h1_host *h = (const struct h1_host *)w; /* its first member */

	if (h->state == HOST_HEAD)
		return w->in->size < PASSAGE_HEAD_MAX;
	return w->in->size < PASSAGE_HEAD_MAX / 2 &&
	       (!h->current || passage_unsent(&h->current->answer) < PASSAGE_QUEUE_MAX);
}

static bool end_host(struct wire *w)
{
	struct h1_host *h = host_of(w);

	w->is_closing = true;
	switch (h->state) {
	case HOST_IDLE:
		break;
	case HOST_HEAD:
	case HOST_BODY:
		fail_answer(h);
		break;
	case HOST_TO_END:
	case HOST_TUNNEL:
		end_answer(h);
		break;
	}
	return true;
}

/* Its answer, or the rest of its request, may be on the way still. */
static void forget_passage(struct wire *w, struct passage *x)
{
	struct h1_host *h = host_of(w);

	if (h->current != x)
		return;
	w->is_closing = true;
	let_go(h);
	buf_reset(w->in);
}

static void free_host(struct wire *w)
{
	struct h1_host *h = host_of(w);

	buf_done(&h->trailers);
	free(h);
}

struct wire *h1_host_new(const struct wire *base)
{
	static const struct wire_calls calls = {.read = read_host,
	                                        .write = write_host,
	                                        .wants = host_wants,
	                                        .on_end = end_host,
	                                        .forget = forget_passage,
	                                        .free = free_host};
	struct h1_host *h = memory_new(sizeof(*h));

	h->wire = *base;
	h->wire.calls = &calls;
	h->trailers = BUF(BODY_TRAILER_LINES_MAX);
	return &h->wire;
}
