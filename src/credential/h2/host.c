/* SPDX-License-Identifier: Apache-2.0 */
/* The side of the host: a client of HTTP/2. */
#include "credential/h2/h2.h"

#include <stdio.h>
#include <string.h>

#include "credential/h2/session.h"

#define FIELDS_MAX (DRAFT_FIELDS_MAX + 6)

static void let_go(struct h2_session *s, struct passage *x)
{
	h2_release(s, &x->host_unacked);
	x->host_stream = 0;
}

static void forget_passage(struct wire *w, struct passage *x)
{
	struct h2_session *s = session_of(w);
	int32_t stream = x->host_stream;

	let_go(s, x);
	if (stream > 0)
		h2_reset(s, stream, WIRE_CANCEL);
}

/* The host's answer is malformed, or over a limit. */
static int drop_answer(struct h2_session *s, struct passage *x)
{
	forget_passage(&s->wire, x);
	passage_fail(x, DECISION_UPSTREAM_UNREACHABLE, WIRE_INTERNAL_ERROR);
	return 0;
}

static int take_head(struct h2_session *s, const nghttp2_frame *frame)
{
	struct passage *x = h2_passage(s, frame->hd.stream_id);
	bool has_body = !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
	struct http_head head;

	if (!x)
		return 0;
	if (!passage_keep_head(x, s->block.size) ||
	    !h2_block_answer(&s->block, &x->arena, has_body, &head))
		return drop_answer(s, x);
	x->answer_is_whole = !has_body;
	if (!h2_block_has_status(&s->block))
		passage_take_trailers(x, &head);
	else if (!passage_take_answer(x, &head, ""))
		return drop_answer(s, x);
	return 0;
}

static int take_data(struct h2_session *s, struct passage *x, struct span piece)
{
	x->host_unacked += piece.size;
	return passage_add_answer(x, piece) ? 0 : drop_answer(s, x);
}

static void end_answer(UNUSED struct h2_session *s, struct passage *x)
{
	passage_end_answer(x);
}

/* A stream that the host has not looked at may be tried again. */
static void close_stream(UNUSED struct h2_session *s, struct passage *x, uint32_t code)
{
	/* Bytes that the client has not taken yet stay counted for the connection's window. */
	x->host_stream = 0;
	if (x->answer.has_ended)
		return;
	if (code == NGHTTP2_REFUSED_STREAM && x->answer_state == ANSWER_NONE)
		passage_return(x);
	else
		passage_fail(x, DECISION_UPSTREAM_UNREACHABLE,
		             code == NGHTTP2_NO_ERROR ? (uint32_t)WIRE_INTERNAL_ERROR : code);
}

static struct passage_queue *outgoing_of(struct passage *x)
{
	return &x->request;
}

static size_t trailers_of(const struct passage *x, const struct head_field **ret)
{
	*ret = x->request_trailers;
	return x->request_trailer_count;
}

static size_t write_fields(struct passage *x, nghttp2_nv fields[FIELDS_MAX], char length[24])
{
	const struct draft *d = &x->draft;
	const char *path =
	        d->query[0] ? arena_format(&x->arena, "%s?%s", d->path, d->query) : d->path;
	size_t count = 0;

	fields[count++] = h2_field(":method", d->head->method, false);
	fields[count++] = h2_field(":scheme", "https", false);
	fields[count++] = h2_field(":authority", d->host, false);
	fields[count++] = h2_field(":path", path, draft_is_secret(d, ":path"));
	for (size_t i = 0; i < d->count; i++)
		fields[count++] =
		        h2_field(h2_name(&x->arena, d->fields[i].name), d->fields[i].value,
		                 draft_is_secret(d, d->fields[i].name));
	if (d->wants_trailers)
		fields[count++] = h2_field("te", "trailers", false);
	if (d->head->content_length >= 0) {
		(void)snprintf(length, 24, "%lld", (long long)d->head->content_length);
		fields[count++] = h2_field("content-length", length, false);
	}
	return count;
}

static bool begin_passage(struct h2_session *s, struct passage *x)
{
	bool has_body = x->head.chunked || x->head.content_length > 0;
	nghttp2_data_provider body = h2_body(x);
	nghttp2_nv fields[FIELDS_MAX];
	char length[24];
	size_t count = write_fields(x, fields, length);
	int32_t stream =
	        nghttp2_submit_request(s->nghttp2, NULL, fields, count, has_body ? &body : NULL, x);

	if (stream < 0)
		return false;
	x->host_stream = stream;
	x->request_state = REQUEST_TAKEN;
	return true;
}

static bool may_begin(const struct h2_session *s)
{
	return !s->wire.is_closing && nghttp2_session_check_request_allowed(s->nghttp2);
}

static void move_passage(struct h2_session *s, struct passage *x)
{
	if (x->request_state == REQUEST_READY && !(may_begin(s) && begin_passage(s, x))) {
		s->wire.is_closing = true;
		passage_return(x);
		return;
	}
	if (x->host_stream == 0) {
		h2_acknowledge(s, 0, &x->host_unacked, &x->answer);
		return;
	}
	h2_acknowledge(s, x->host_stream, &x->host_unacked, &x->answer);
	if (x->request_state == REQUEST_TAKEN && passage_is_drained(&x->request))
		x->request_state = REQUEST_OVER;
	if (passage_ready(&x->request).size > 0 || x->request.has_ended)
		(void)nghttp2_session_resume_data(s->nghttp2, x->host_stream);
}

static bool write_host(struct wire *w)
{
	struct h2_session *s = session_of(w);

	LIST_EACH (&w->connection->passages, struct passage, x, link)
		move_passage(s, x);
	if (!h2_pump(s))
		w->is_closing = true;
	if (!nghttp2_session_want_read(s->nghttp2) && !nghttp2_session_want_write(s->nghttp2))
		w->is_closing = true;
	return true;
}

static bool read_host(struct wire *w)
{
	return (h2_read(w) && !session_of(w)->is_flooded) || w->calls->on_end(w);
}

/* The connection is lost, and every answer that is not whole. */
static bool end_host(struct wire *w)
{
	w->is_closing = true;
	LIST_EACH (&w->connection->passages, struct passage, x, link) {
		bool was_begun = x->host_stream > 0;

		if (was_begun)
			forget_passage(w, x);
		if (was_begun && !x->answer.has_ended)
			passage_fail(x, DECISION_UPSTREAM_UNREACHABLE, WIRE_INTERNAL_ERROR);
		else if (x->request_state == REQUEST_READY || x->request_state == REQUEST_GATHERED)
			passage_return(x);
	}
	return true;
}

struct wire *h2_host_new(const struct wire *base)
{
	static const struct wire_calls calls = {.read = read_host,
	                                        .write = write_host,
	                                        .wants = h2_wants,
	                                        .on_end = end_host,
	                                        .forget = forget_passage,
	                                        .free = h2_session_free};
	static const struct h2_side side = {.on_head = take_head,
	                                    .on_data = take_data,
	                                    .on_end = end_answer,
	                                    .on_close = close_stream,
	                                    .outgoing = outgoing_of,
	                                    .trailers = trailers_of,
	                                    .is_host = true};
	struct h2_session *s = memory_new(sizeof(*s));

	s->wire = *base;
	s->wire.calls = &calls;
	return h2_session_open(s, &side);
}
