/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a connection. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "credential/proxy/carry.h"
#include "credential/passage/mask.h"
#include "credential/proxy/state.h"

/* About the connection or the framing, which the proxy says itself; and what would lead the client
 * past the proxy. */
static const char *const dropped[] = {"connection",        "keep-alive",     "proxy-connection",
                                      "transfer-encoding", "content-length", "upgrade",
                                      "alt-svc",           "trailer",        NULL};

static bool answer_has_no_body(const struct carried *c, int status)
{
	return status / 100 == 1 || status == 204 || status == 304 ||
	       strcmp(c->method, "HEAD") == 0;
}

/* The line without its end; values in it are masked with the rest of the head. */
static struct span status_line(struct span raw)
{
	struct span line;

	(void)span_split(&raw, '\r', &line);
	return span_after(line, strlen("HTTP/1.x"));
}

/* A cookie that the proxy puts in belongs to it. */
static bool is_own_cookie(const struct carried *c, const struct head_field *f)
{
	const struct credential_inject *items = c->rule ? c->rule->inject.items : NULL;
	struct span rest = span_of(f->value), name;

	if (!items || strcasecmp(f->name, "set-cookie") != 0)
		return false;
	(void)span_split(&rest, '=', &name);
	for (size_t i = 0; i < c->rule->inject.count; i++)
		if (items[i].kind == INJECT_COOKIE &&
		    span_equals_text(span_trim(name), items[i].name))
			return true;
	return false;
}

static void write_framing(struct carried *c, const struct http_head *h, bool has_body)
{
	struct buf *out = &c->client.out;

	if (h->status / 100 == 1) {
		buf_add_text(out, "\r\n");
		return;
	}
	c->answer_is_chunked = false;
	if (h->content_length >= 0) {
		buf_addf(out, "Content-Length: %lld\r\n", (long long)h->content_length);
	} else if (has_body && !c->client_is_http10) {
		c->answer_is_chunked = true;
		buf_add_text(out, "Transfer-Encoding: chunked\r\n");
	} else if (has_body) {
		c->keeps_alive = false;
	}
	buf_add_text(out, c->keeps_alive ? "Connection: keep-alive\r\n\r\n"
	                                 : "Connection: close\r\n\r\n");
}

static void write_head(struct carried *c, const struct http_head *h, struct span line,
                       bool has_body)
{
	AUTO(buf_done) struct buf head = BUF(CARRY_HEAD_MAX * 2);

	buf_add_text(&head, "HTTP/1.1");
	buf_add_span(&head, line);
	buf_add_text(&head, "\r\n");
	for (unsigned i = 0; i < h->field_count; i++)
		if (!head_name_is_of(h->fields[i].name, dropped) &&
		    !is_own_cookie(c, &h->fields[i]))
			buf_addf(&head, "%s: %s\r\n", h->fields[i].name, h->fields[i].value);
	if (!c->rule || c->rule->mask != MASK_OFF)
		mask_bytes(c->guard->mask, head.data, head.size);
	buf_add_span(&c->client.out, buf_span(&head));
	write_framing(c, h, has_body);
}

static void write_upgrade(struct carried *c, const struct http_head *h, struct span line)
{
	write_head(c, h, line, false);
	/* Before the empty line that ended the head. */
	c->client.out.size -= 2;
	buf_add_text(&c->client.out, "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	c->answer_state = ANSWER_TUNNEL;
	c->request_state = REQUEST_SENT;
}

/* An encoding that the client was not let to ask for could hide a value. */
static bool is_hidden(const struct carried *c, const struct http_head *h)
{
	const char *coding = head_find(h, "content-encoding");

	return coding && strcasecmp(coding, "identity") != 0 && c->is_masked && c->rule &&
	       c->rule->action == CREDENTIAL_INJECT;
}

static bool take_upgrade(struct carried *c, const struct http_head *h, struct span line)
{
	const char *accept = head_find(h, "sec-websocket-accept");

	if (!c->websocket_accept[0] || !accept || strcmp(accept, c->websocket_accept) != 0)
		return false;
	write_upgrade(c, h, line);
	return true;
}

static bool take_answer(struct carried *c, const struct http_head *h, struct span line)
{
	bool has_body = !answer_has_no_body(c, h->status);

	if (h->status == 101)
		return take_upgrade(c, h, line);
	if (is_hidden(c, h) && has_body)
		return false;
	/* A connection whose request is not whole is not used for another one. */
	c->keeps_alive = c->keeps_alive && h->keep_alive &&
	                 (h->chunked || h->content_length >= 0 || !has_body);
	write_head(c, h, line, has_body);
	if (h->status / 100 == 1)
		return true;
	c->head_is_answered = true;
	body_start(&c->answer_body, has_body && h->chunked, has_body ? h->content_length : 0);
	c->answer_state =
	        has_body && !h->chunked && h->content_length < 0 ? ANSWER_TO_END : ANSWER_BODY;
	return true;
}

/* 1 = a head was taken, 0 = it has not come, -1 = it is malformed. */
static int begin_answer(struct carried *c)
{
	const struct arena_mark mark = arena_mark(&c->arena);
	struct http_head head;
	size_t size = 0;
	bool is_taken;
	enum http_fault fault = head_find_end(buf_span(&c->server.in), &c->server.scanned, &size);

	if (!fault)
		fault = head_check_size(buf_span(&c->server.in), size, CARRY_HEAD_MAX);
	if (fault)
		return -1;
	if (size == 0)
		return 0;
	struct span raw = {c->server.in.data, size};
	char *text = arena_copy(&c->arena, raw);

	is_taken = head_parse_answer(text, size, &head) == FAULT_NONE &&
	           take_answer(c, &head, status_line(raw));
	arena_rewind(&c->arena, &mark);
	if (!is_taken)
		return -1;
	buf_consume(&c->server.in, size);
	c->server.scanned = 0;
	return 1;
}

static void send_piece(struct carried *c, struct span piece)
{
	if (piece.size == 0)
		return;
	if (c->answer_is_chunked)
		buf_addf(&c->client.out, "%zx\r\n", piece.size);
	buf_add_span(&c->client.out, piece);
	if (c->answer_is_chunked)
		buf_add_text(&c->client.out, "\r\n");
}

/* Sends what is held back but for the last `kept` bytes, and leaves `context` bytes of it before
 * them. */
static void release_held(struct carried *c, size_t kept, size_t context)
{
	size_t end = c->held.size > kept ? c->held.size - kept : 0;

	if (end <= c->held_sent)
		return;
	send_piece(c, (struct span){c->held.data + c->held_sent, end - c->held_sent});
	context = context < end ? context : end;
	buf_consume(&c->held, end - context);
	c->held_sent = context;
	if (c->held.size == 0)
		buf_done(&c->held);
}

static void add_piece(struct carried *c, struct span piece)
{
	size_t reach = c->is_masked ? mask_reach(c->guard->mask) : 0;

	if (reach == 0) {
		send_piece(c, piece);
		return;
	}
	buf_add_span(&c->held, piece);
	mask_bytes(c->guard->mask, c->held.data, c->held.size);
	release_held(c, reach, 0);
}

void carried_flush(struct carried *c)
{
	if (c->held.size > c->held_sent)
		release_held(c, mask_begun(c->guard->mask, buf_span(&c->held)), MASK_BEGUN_MIN - 1);
}

static bool count_bytes_in(struct carried *c, size_t size)
{
	struct rule_use *use;

	if (!c->rule)
		return true;
	use = guard_use(c->guard, c->rule);
	use->bytes_in += (int64_t)size;
	return c->rule->limits.bytes_in == 0 || use->bytes_in <= c->rule->limits.bytes_in;
}

/* Sends all of it: no more comes. */
static void drop_held(struct carried *c)
{
	release_held(c, 0, 0);
	buf_done(&c->held);
	c->held_sent = 0;
}

static void end_answer(struct carried *c)
{
	drop_held(c);
	if (c->answer_is_chunked)
		buf_add_text(&c->client.out, "0\r\n\r\n");
	c->answer_state = ANSWER_NONE;
	if (!c->keeps_alive || c->request_state != REQUEST_SENT || c->server.has_ended)
		c->is_closing = true;
	else
		c->request_state = REQUEST_HEAD;
}

static bool move_answer_body(struct carried *c)
{
	struct span rest = buf_span(&c->server.in), piece;
	enum body_result result = BODY_MORE;

	while (c->client.out.size < CARRY_OUT_MAX) {
		result = body_next(&c->answer_body, &rest, &piece);
		if (result != BODY_PIECE)
			break;
		if (!count_bytes_in(c, piece.size))
			return false;
		add_piece(c, piece);
	}
	buf_consume(&c->server.in, c->server.in.size - rest.size);
	if (result == BODY_END)
		end_answer(c);
	return result != BODY_BAD;
}

static bool move_raw(struct carried *c)
{
	if (!count_bytes_in(c, c->server.in.size))
		return false;
	add_piece(c, buf_span(&c->server.in));
	buf_reset(&c->server.in);
	return true;
}

static bool fail_answer(struct carried *c)
{
	if (c->head_is_answered)
		return false;
	carried_refuse(c, DECISION_UPSTREAM_UNREACHABLE, (struct span){NULL, 0});
	buf_reset(&c->server.in);
	return true;
}

bool carried_answers(struct carried *c)
{
	int got = 1;

	if (c->is_closing)
		return true;
	/* Nothing was asked: an answer now could be taken for that of the next request. */
	if (c->answer_state == ANSWER_NONE)
		return c->server.in.size == 0;
	while (c->answer_state == ANSWER_HEAD && got > 0 && c->server.in.size > 0)
		got = begin_answer(c);
	if (got < 0)
		return fail_answer(c);
	if (c->answer_state == ANSWER_BODY)
		return move_answer_body(c);
	if (c->answer_state != ANSWER_TO_END && c->answer_state != ANSWER_TUNNEL)
		return true;
	c->answer_is_chunked = c->answer_is_chunked && c->answer_state == ANSWER_TO_END;
	return move_raw(c);
}

bool carried_host_ended(struct carried *c)
{
	switch (c->answer_state) {
	case ANSWER_NONE:
		/* Between requests: the client opens another connection, unless it is to hear of a
		 * fault. */
		if (c->fault != DECISION_OK)
			return true;
		c->is_closing = true;
		return true;
	case ANSWER_HEAD:
		return fail_answer(c);
	case ANSWER_BODY:
		return false;
	case ANSWER_TO_END:
		end_answer(c);
		c->is_closing = true;
		return true;
	case ANSWER_TUNNEL:
		drop_held(c);
		c->is_closing = true;
		return true;
	}
	return false;
}
