/* SPDX-License-Identifier: Apache-2.0 */
#include "http/proxy/proxy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "http/server/connection_state.h"
#include "http/server/exchange.h"
#include "http/proxy/parts.h"
#include "http/server/http.h"
#include "http/server/relay_run.h"
#include "http/server/relay_state.h"

/* Limit of interim answers (100, 103 …). */
#define INTERIM_MAX 16
#define REWRITTEN_MAX ((size_t)4 << 20) /* for a single piece of input */
#define REQUEST_HEAD_MAX ((size_t)256 * 1024)

static void fail_request_hint(struct proxy *p, struct relay *relay, const char *why,
                              const char *hint)
{
	struct error err;

	error_set(&err, ERROR_UNAVAILABLE, 0, HERE, "%s %s",
	          p->asked.is_whole ? "the server that has it" : "the server behind the preview",
	          why);
	error_hint(&err, "%s", hint);
	p->may_keep = false;
	if (p->has_answered)
		relay_fail(relay, &err);
	else
		p->ops->fail(p->state, relay, 502, &err);
	p->has_answered = p->is_done = true;
}

static void fail_request(struct proxy *p, struct relay *relay, const char *why)
{
	fail_request_hint(p, relay, why, "");
}

/* The page cannot be rewritten, so its addresses would be wrong. */
static void fail_unsupported_coding(struct proxy *p, struct relay *relay,
                                    const struct http_head *head)
{
	char why[128];

	(void)snprintf(why, sizeof(why),
	               "sent a page packed as '%.40s', though it was asked for it as it is",
	               head_find(head, "Content-Encoding"));
	fail_request_hint(
	        p, relay, why,
	        "have it heed 'Accept-Encoding: identity', or pack by gzip; at a host of its own a "
	        "preview may be packed in any way");
}

static void finish_reply(struct proxy *p, struct relay *relay)
{
	AUTO(buf_done) struct buf out = BUF(REWRITE_TAG_MAX);

	if (p->content_decoder && !content_decoder_is_whole(p->content_decoder)) {
		fail_request(p, relay, "sent less than all of a page that it had packed");
		return;
	}
	if (p->is_rewritten) {
		if (p->is_style)
			css_rewriter_end(&p->css, &out);
		else
			rewriter_end(&p->rewriter, &out);
		relay_write(relay, buf_span(&out));
	}
	proxy_answer_trailers(p, relay);
	p->is_done = true;
	relay_finish(relay);
}

static void rewrite_piece(struct proxy *p, struct relay *relay, struct span piece)
{
	AUTO(buf_done) struct buf out = BUF(REWRITTEN_MAX);

	if (p->is_style)
		css_rewriter_take(&p->css, &p->asked.place, piece, &out);
	else
		rewriter_take(&p->rewriter, piece, &out);
	if (out.overflowed)
		fail_request(p, relay, "sent a page that cannot be rewritten");
	else
		relay_write(relay, buf_span(&out));
}

/* Stops when the client's buffer is full or the iteration's limit is reached; the rest of the piece
 * waits. */
static void decompress_piece(struct proxy *p, struct relay *relay, struct span *piece)
{
	enum decode_result result = DECODE_PIECE;
	struct span part;

	while (!p->is_done && result == DECODE_PIECE) {
		result = relay_has_room(relay)
		                 ? content_decoder_next(p->content_decoder, piece, &part)
		                 : DECODE_LATER;
		if (result == DECODE_PIECE)
			rewrite_piece(p, relay, part);
		else if (result == DECODE_BAD)
			fail_request(p, relay, "sent a page that is not packed as it says");
	}
	p->decodes_later = !p->is_done && result == DECODE_LATER;
	if (p->decodes_later)
		relay_later(relay);
}

/* Removes the used bytes from *piece: all bytes, unless they are decoded. */
static void pass_body(struct proxy *p, struct relay *relay, struct span *piece)
{
	if (p->content_decoder) {
		decompress_piece(p, relay, piece);
		return;
	}
	if (p->is_rewritten)
		rewrite_piece(p, relay, *piece);
	else
		relay_write(relay, *piece);
	piece->size = 0;
}

static void take_body(struct proxy *p, struct relay *relay, struct span *in)
{
	struct span piece;

	while (!p->is_done && !p->decodes_later) {
		switch (body_next(&p->body, in, &piece)) {
		case BODY_PIECE:
			pass_body(p, relay, &piece);
			body_unread(&p->body, in, piece.size);
			break;
		case BODY_MORE:
			return;
		case BODY_END:
			/* Unexpected bytes after the answer: the connection is not reused. */
			p->may_keep &= in->size == 0;
			finish_reply(p, relay);
			return;
		case BODY_BAD:
			fail_request(p, relay, "broke the framing of its body");
			return;
		}
	}
}

/* False while the head is incomplete, or when it was refused. */
static bool take_head(struct proxy *p, struct relay *relay, struct span *in)
{
	AUTO(buf_done) struct buf text = BUF(PROXY_HEAD_MAX);
	size_t size = 0;
	enum http_fault fault = head_find_end(*in, &p->scanned, &size);
	struct http_head head;

	if (!fault && (size ? size : in->size) > PROXY_HEAD_MAX)
		fault = FAULT_HEAD_SIZE;
	if (!fault && !size)
		return false;
	p->scanned = 0;
	if (!fault) {
		buf_add(&text, in->data, size);
		fault = head_parse_answer(text.data, size, &head);
		span_skip(in, size);
	}
	if (fault) {
		fail_request(p, relay, fault_kind_get(fault)->text);
		return false;
	}
	if (head.status == 101 && (!p->asked.wants_upgrade || !head.known[HEAD_UPGRADE])) {
		fail_request(p, relay, "changed the protocol without being asked");
		return false;
	}
	if (proxy_cannot_read(p, &head)) {
		fail_unsupported_coding(p, relay, &head);
		return false;
	}
	if (head.status >= 200 || head.status == 101) {
		proxy_begin_answer(p, relay, &head);
	} else if (++p->interim > INTERIM_MAX) {
		fail_request(p, relay, "sent no answer but interim ones");
		return false;
	}
	return true;
}

/* Continues decoding after the iteration's limit was reached; no new input may be left. */
static void continue_decoding(struct proxy *p, struct relay *relay)
{
	struct span none = SPAN("");

	if (!p->content_decoder || p->is_done)
		return;
	content_decoder_begin_step(p->content_decoder);
	if (p->decodes_later)
		decompress_piece(p, relay, &none);
}

static int on_upstream(void *state, struct relay *relay, struct span *in, struct error *err)
{
	struct proxy *p = state;

	(void)err;
	continue_decoding(p, relay);
	while (!p->has_answered && !p->is_done)
		if (!take_head(p, relay, in))
			break;
	if (p->is_done) {
		in->size = 0;
	} else if (p->is_tunnel || p->until_close) {
		if (in->size && !p->decodes_later)
			pass_body(p, relay, in);
	} else if (p->has_answered) {
		take_body(p, relay, in);
	}
	return 0;
}

/* Retries on another connection: a pooled connection may be closed by the upstream just when it is
 * reused, before the upstream reads the request. */
static bool retry_request(struct proxy *p, struct relay *relay)
{
	if (!p->is_reused || p->has_answered || p->interim || !p->asked.is_safe)
		return false;
	p->is_done = true;
	proxy_pool_drop(p->pool, p->place);
	relay_retry(relay);
	return true;
}

static int on_upstream_end(void *state, struct relay *relay, struct error *err)
{
	struct proxy *p = state;

	(void)err;
	p->may_keep = false;
	if (p->is_done || retry_request(p, relay))
		return 0;
	if (p->has_answered && (p->until_close || p->is_tunnel))
		finish_reply(p, relay);
	else
		fail_request(p, relay, "closed the connection before its answer was whole");
	return 0;
}

static int on_upstream_broken(void *state, struct relay *relay, struct error *err)
{
	struct proxy *p = state;

	(void)err;
	p->may_keep = false;
	if (p->is_done || retry_request(p, relay))
		return 0;
	if (p->is_tunnel)
		finish_reply(p, relay);
	else
		fail_request(p, relay, "reset the connection");
	return 0;
}

static int on_client(void *state, struct relay *relay, struct span bytes, bool last,
                     struct error *err)
{
	AUTO(buf_done) struct buf end = BUF(2 * BODY_TRAILER_LINES_MAX);
	struct proxy *p = state;
	char head[24];
	bool chunked = p->asked.sends_chunked && !p->is_tunnel;

	(void)err;
	if (bytes.size && p->ops->on_client)
		p->ops->on_client(p->state);
	if (chunked && bytes.size) {
		int size = snprintf(head, sizeof(head), "%zx\r\n", bytes.size);

		relay_to_upstream(relay, (struct span){head, (size_t)size});
	}
	relay_to_upstream(relay, bytes);
	if (chunked && bytes.size)
		relay_to_upstream(relay, SPAN("\r\n"));
	if (chunked && last) {
		buf_add_span(&end, SPAN("0\r\n"));
		proxy_write_trailers(p, &end);
		buf_add_span(&end, SPAN("\r\n"));
		relay_to_upstream(relay, buf_span(&end));
	}
	p->request_is_sent |= last;
	return 0;
}

static void on_start(void *state, struct relay *relay)
{
	struct proxy *p = state;

	if (p->ops->on_start)
		p->ops->on_start(p->state, relay);
}

static void release_proxy(void *state, int upstream_fd, bool clean)
{
	struct proxy *p = state;

	if (clean && upstream_fd >= 0 && p->pool && p->may_keep && p->is_done && p->request_is_sent)
		proxy_pool_put(p->pool, p->place, upstream_fd);
	else
		socket_drop(&upstream_fd);
	p->ops->release(p->state);
	content_decoder_free(p->content_decoder);
	rewriter_done(&p->rewriter);
	css_rewriter_done(&p->css);
	buf_done(&p->sent);
	buf_done(&p->got);
	arena_done(&p->arena);
	free(p);
}

static const struct relay_ops proxy_relay = {
        .on_start = on_start,
        .on_upstream = on_upstream,
        .on_upstream_end = on_upstream_end,
        .on_upstream_broken = on_upstream_broken,
        .on_client = on_client,
        .release = release_proxy,
};

void reply_proxy(struct request *rq, struct reply *reply, const struct proxy_options *o)
{
	AUTO(buf_done) struct buf head = BUF(REQUEST_HEAD_MAX + rq->body.size);
	struct proxy *p = memory_new(sizeof(*p));

	p->ops = o->ops;
	p->state = o->state;
	p->pool = o->pool;
	p->is_reused = o->is_reused;
	p->withheld = o->withheld;
	p->sent = p->got = BUF(BODY_TRAILER_LINES_MAX);
	p->place = o->pool ? arena_text(&p->arena, o->place) : NULL;
	proxy_note_request(&p->asked, &p->arena, rq, o);
	if (o->hop)
		proxy_write_whole(&head, rq, o, &p->asked);
	else
		proxy_write_request(&head, rq, o, &p->asked);
	reply_relay(reply, &(struct relay_options){.upstream_fd = o->upstream_fd,
	                                           .is_shared = true,
	                                           .tls = o->tls,
	                                           .ops = &proxy_relay,
	                                           .state = p,
	                                           .idle_timeout_ms = o->idle_timeout_ms,
	                                           .upstream_first = buf_span(&head),
	                                           .trailers = &p->sent});
}

void relay_proxy(struct relay *relay, struct span body, const struct proxy_options *o)
{
	struct http_exchange *ex = relay->ex;

	relay_enter(relay);
	assert(!relay->status && relay->ending == ENDING_NOT);
	assert(relay->conn->body.state == BODY_COMPLETE);
	ex->request.body = body;
	ex->reply.has_relay = false;
	buf_reset(&ex->reply.headers);
	reply_proxy(&ex->request, &ex->reply, o);
	ex->request.body = (struct span){NULL, 0}; /* the caller owns it, and it was sent */
	relay->ending = ENDING_AGAIN;
	relay_leave_and_update(relay);
}
