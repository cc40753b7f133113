/* SPDX-License-Identifier: Apache-2.0 */
/* The side of the sandbox: a server of HTTP/2. */
#include "credential/h2/h2.h"

#include <stdio.h>
#include <string.h>

#include "credential/h2/session.h"
#include "credential/passage/guard.h"

#define TRAILERS_MAX 8192 /* as in HTTP/1.1 */
#define FIELDS_MAX (HEAD_FIELDS_MAX + 4)

/* nghttp2 lets nothing else follow a head than bodies and these. */
static int take_trailers(struct h2_session *s, int32_t stream)
{
	struct passage *x = h2_passage(s, stream);
	struct http_head head;

	if (!x)
		return 0;
	if (s->block.size > TRAILERS_MAX || h2_block_has_status(&s->block) ||
	    !passage_keep_head(x, s->block.size) ||
	    !h2_block_answer(&s->block, &x->arena, false, &head))
		passage_fail(x, DECISION_BAD_REQUEST, WIRE_PROTOCOL_ERROR);
	else
		passage_take_request_trailers(x, &head);
	return 0;
}

/* A head that cannot be read is refused by name, as in HTTP/1.1. */
static int take_head(struct h2_session *s, const nghttp2_frame *frame)
{
	bool has_body = !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
	struct passage *x;

	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return take_trailers(s, frame->hd.stream_id);
	/* A refusal that is read takes memory, too. */
	if (s->wire.connection->guard->is_full &&
	    s->wire.connection->passage_count >= REFUSED_STREAMS_MAX) {
		h2_reset(s, frame->hd.stream_id, WIRE_REFUSED_STREAM);
		return 0;
	}
	x = passage_new(s->wire.connection);
	x->client_stream = frame->hd.stream_id;
	if (!passage_keep_head(x, s->block.size)) {
		h2_reset(s, x->client_stream, WIRE_CALM);
		passage_free(x);
		return 0;
	}
	(void)nghttp2_session_set_stream_user_data(s->nghttp2, x->client_stream, x);
	if (!h2_block_request(&s->block, &x->arena, has_body, &x->head)) {
		x->head = (struct http_head){.method = NULL};
		passage_refuse(x, DECISION_BAD_REQUEST);
	} else {
		passage_take_request(x);
	}
	return 0;
}

static int take_data(struct h2_session *s, struct passage *x, struct span piece)
{
	/* A body that is gathered waits for its own end: it must not keep the window that others
	 * need for theirs. passage_add_request limits what a connection gathers. */
	if (x->request_state == REQUEST_GATHERED)
		(void)nghttp2_session_consume_connection(s->nghttp2, piece.size);
	else
		x->client_unacked += piece.size;
	/* What is over a limit is refused, or cut; the stream ends with that. */
	(void)!passage_add_request(x, piece);
	return 0;
}

static void end_request(UNUSED struct h2_session *s, struct passage *x)
{
	(void)!passage_end_request(x);
}

static void let_go(struct h2_session *s, struct passage *x)
{
	h2_release(s, &x->client_unacked);
	passage_free(x);
}

static void close_stream(struct h2_session *s, struct passage *x, UNUSED uint32_t code)
{
	let_go(s, x);
}

static struct passage_queue *outgoing_of(struct passage *x)
{
	return &x->answer;
}

static size_t trailers_of(const struct passage *x, const struct head_field **ret)
{
	*ret = x->trailers;
	return x->trailer_count;
}

static void write_head(struct wire *w, struct passage *x, const struct passage_head *head)
{
	struct h2_session *s = session_of(w);
	nghttp2_data_provider body = h2_body(x);
	char status[8], length[24];
	nghttp2_nv fields[FIELDS_MAX];
	size_t count = 0;

	(void)snprintf(status, sizeof(status), "%d", head->status);
	fields[count++] = h2_field(":status", status, false);
	for (size_t i = 0; i < head->count && count < FIELDS_MAX - 1; i++)
		fields[count++] = h2_field(h2_name(&x->arena, head->fields[i].name),
		                           head->fields[i].value, false);
	if (head->content_length >= 0) {
		(void)snprintf(length, sizeof(length), "%lld", (long long)head->content_length);
		fields[count++] = h2_field("content-length", length, false);
	}
	if (head->status / 100 == 1)
		(void)nghttp2_submit_headers(s->nghttp2, NGHTTP2_FLAG_NONE, x->client_stream, NULL,
		                             fields, count, NULL);
	else
		(void)nghttp2_submit_response(s->nghttp2, x->client_stream, fields, count,
		                              head->has_body && !head->is_whole ? &body : NULL);
}

/* Moves a passage on. An answer before the whole request was read ends the stream: the client
 * need not send the rest. */
static void move_passage(struct h2_session *s, struct passage *x)
{
	int32_t stream = x->client_stream;

	if (x->is_cut) {
		h2_reset(s, stream, x->cut_code);
		let_go(s, x);
		return;
	}
	h2_acknowledge(s, stream, &x->client_unacked, &x->request);
	if (passage_ready(&x->answer).size > 0 || x->answer.has_ended)
		(void)nghttp2_session_resume_data(s->nghttp2, stream);
	if (passage_is_drained(&x->answer) && x->answer_state != ANSWER_NONE &&
	    nghttp2_session_get_stream_local_close(s->nghttp2, stream) == 1 &&
	    nghttp2_session_get_stream_remote_close(s->nghttp2, stream) == 0) {
		h2_reset(s, stream, WIRE_NO_ERROR);
		let_go(s, x);
	}
}

/* The host takes no further request: the client opens another connection. */
static void say_farewell(struct h2_session *s)
{
	const struct wire *host = s->wire.connection->host_wire;
	int32_t last = nghttp2_session_get_last_proc_stream_id(s->nghttp2);

	/* Without a host, one request has to be told why. */
	if (s->has_farewell || (host ? !host->is_closing : last == 0))
		return;
	s->has_farewell = true;
	(void)nghttp2_submit_goaway(s->nghttp2, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
}

static bool write_client(struct wire *w)
{
	struct h2_session *s = session_of(w);

	LIST_EACH (&w->connection->passages, struct passage, x, link)
		move_passage(s, x);
	say_farewell(s);
	if (!h2_pump(s))
		return false;
	if (s->is_flooded || (s->has_farewell && w->connection->passage_count == 0))
		w->is_closing = true;
	return s->is_flooded || nghttp2_session_want_read(s->nghttp2) ||
	       nghttp2_session_want_write(s->nghttp2) || w->out->size > 0;
}

static bool end_client(struct wire *w)
{
	return w->is_closing && w->out->size > 0;
}

struct wire *h2_client_new(const struct wire *base)
{
	static const struct wire_calls calls = {.read = h2_read,
	                                        .write = write_client,
	                                        .wants = h2_wants,
	                                        .on_end = end_client,
	                                        .on_head = write_head,
	                                        .free = h2_session_free};
	static const struct h2_side side = {.on_head = take_head,
	                                    .on_data = take_data,
	                                    .on_end = end_request,
	                                    .on_close = close_stream,
	                                    .outgoing = outgoing_of,
	                                    .trailers = trailers_of};
	struct h2_session *s = memory_new(sizeof(*s));

	s->wire = *base;
	s->wire.calls = &calls;
	return h2_session_open(s, &side);
}
