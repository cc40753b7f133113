/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a connection. answer.c has the answers. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "credential/proxy/carry.h"
#include "credential/passage/mask.h"
#include "credential/proxy/state.h"
#include "egress/refusal.h"
#include "http/message/websocket.h"

#define SIGNED_BODY_MAX ((size_t)256 * 1024)
#define REPORT_MS 1000

static void fill_decision(const struct carried *c, enum decision_verdict verdict,
                          enum decision_code code, struct network_decision *ret)
{
	*ret = (struct network_decision){.address = c->address,
	                                 .port = CREDENTIAL_PORT,
	                                 .verdict = (uint8_t)verdict,
	                                 .code = (uint8_t)code,
	                                 .protocol = DECISION_TLS,
	                                 .count = 1};
	(void)snprintf(ret->sandbox, sizeof(ret->sandbox), "%s", c->guard->set.sandbox);
	(void)snprintf(ret->host, sizeof(ret->host), "%s", c->host);
	(void)snprintf(ret->rule, sizeof(ret->rule), "%s", c->rule ? c->rule->id : "");
}

void carried_refuse(struct carried *c, enum decision_code code, struct span head)
{
	struct network_decision d;

	fill_decision(c, DECISION_DENIED, code, &d);
	proxy_report(c->proxy, &d);
	refusal_write(&c->client.out, &d, head);
	c->is_closing = true;
	c->answer_state = ANSWER_NONE;
}

/* "api.example.com", also with the port of HTTPS. */
static bool is_same_host(const struct carried *c, const char *host)
{
	struct span name = span_of(host);

	if (span_ends_with_word(name, SPAN(":443")))
		name.size -= strlen(":443");
	return host && span_is_word(name, c->host);
}

static bool method_is_refused(const char *method)
{
	static const char *const refused[] = {"CONNECT", "TRACE", "TRACK", NULL};

	return head_name_is_of(method, refused);
}

static const struct credential_rule *find_rule(const struct carried *c, struct draft *d)
{
	struct credential_request_field headers[HEAD_FIELDS_MAX];
	const struct credential_request request = {.host = span_of(c->host),
	                                           .method = span_of(d->head->method),
	                                           .path = span_of(d->path),
	                                           .query = span_of(d->query),
	                                           .headers = headers,
	                                           .header_count = d->head->field_count};

	for (unsigned i = 0; i < d->head->field_count; i++)
		headers[i] = (struct credential_request_field){span_of(d->head->fields[i].name),
		                                               span_of(d->head->fields[i].value)};
	return credential_rules_find(&c->guard->rules, &request);
}

/* What the rules say about the request. */
static enum decision_code judge_request(struct carried *c, struct draft *d)
{
	const struct http_head *h = d->head;
	bool is_star = span_equals_text(h->target, "*");
	struct rule_use *use;

	if (!h->known[HEAD_HOST] || !is_same_host(c, h->known[HEAD_HOST]))
		return DECISION_HOST_MISMATCH;
	if (method_is_refused(h->method) ||
	    (!is_star && credential_path_fault(span_of(d->path), true)))
		return DECISION_BAD_REQUEST;
	c->rule = find_rule(c, d);
	if (!is_star &&
	    credential_path_fault(span_of(d->path), c->rule && c->rule->match.encoded_slash))
		return DECISION_BAD_REQUEST;
	if (c->fault != DECISION_OK)
		return c->fault;
	if (!c->rule)
		return DECISION_OK;
	if (c->rule->action == CREDENTIAL_DENY)
		return DECISION_RULE_DENIED;
	if (d->is_websocket && c->rule->action == CREDENTIAL_INJECT && !c->rule->websocket)
		return DECISION_RULE_DENIED;
	if (!guard_may_use(c->guard, c->rule, c->host, clock_unix_ms()))
		return DECISION_CREDENTIAL_EXPIRED;
	use = guard_use(c->guard, c->rule);
	if (c->rule->limits.bytes_out_request > 0 &&
	    h->content_length > c->rule->limits.bytes_out_request)
		return DECISION_LIMIT;
	return guard_take_request(use, &c->rule->limits, loop_now_ms(c->proxy->loop))
	               ? DECISION_OK
	               : DECISION_LIMIT;
}

void carried_report(struct carried *c)
{
	const struct credential_rule *now = c->rule;
	struct network_decision d;

	if (c->counted == 0)
		return;
	c->rule = c->counted_rule;
	fill_decision(c, DECISION_ALLOWED, DECISION_OK, &d);
	c->rule = now;
	d.count = c->counted;
	c->counted = 0;
	proxy_report(c->proxy, &d);
}

/* The first request of a rule is reported at once, further ones each second. */
static void count_request(struct carried *c)
{
	int64_t now = loop_now_ms(c->proxy->loop);

	if (c->counted_rule != c->rule)
		carried_report(c);
	if (c->counted_rule != c->rule || c->reported_ms == 0)
		c->reported_ms = now - REPORT_MS;
	c->counted_rule = c->rule;
	c->counted++;
	if (now - c->reported_ms < REPORT_MS)
		return;
	carried_report(c);
	c->reported_ms = now;
}

static void note_request(struct carried *c, const struct draft *d)
{
	const struct http_head *h = d->head;
	AUTO(buf_done) struct buf accept = BUF(sizeof(c->websocket_accept));

	(void)snprintf(c->method, sizeof(c->method), "%s", h->method);
	c->websocket_accept[0] = '\0';
	if (d->is_websocket) {
		websocket_write_accept(&accept, h->known[HEAD_WEBSOCKET_KEY]);
		(void)snprintf(c->websocket_accept, sizeof(c->websocket_accept), "%s",
		               buf_text(&accept));
	}
	c->client_is_http10 = h->is_http10;
	c->keeps_alive = h->keep_alive;
	c->request_bytes = 0;
	c->is_masked = !c->rule || c->rule->mask == MASK_ALL;
	c->head_is_answered = false;
	body_start(&c->request_body, h->chunked, h->content_length);
	c->request_state = REQUEST_BODY;
	c->answer_state = ANSWER_HEAD;
	count_request(c);
}

/* Whether the body that a signature needs has come; *ret_refused when it never can. */
static bool body_is_there(const struct carried *c, const struct draft *d, size_t head_size,
                          bool *ret_refused)
{
	*ret_refused = d->head->chunked || d->head->expects_continue ||
	               (size_t)d->head->content_length > SIGNED_BODY_MAX;
	return *ret_refused || c->client.in.size - head_size >= (size_t)d->head->content_length;
}

static enum decision_code complete_draft(struct carried *c, struct draft *d, size_t head_size)
{
	struct span body = {NULL, 0};
	struct error err = {0};

	d->set = &c->guard->set;
	d->rule = c->rule;
	if (draft_needs_body(d))
		body = (struct span){c->client.in.data + head_size,
		                     (size_t)d->head->content_length};
	if (draft_inject(d, &err) == 0 &&
	    (!draft_signature(d) || draft_sign(d, body, clock_unix_ms(), &err) == 0))
		return DECISION_OK;
	return err.code == ERROR_FORBIDDEN ? DECISION_RULE_DENIED : DECISION_BAD_REQUEST;
}

/* Before a rule counts the request: 1 = go on, 0 = wait for its body, -1 = the body is too large.
 */
static int wait_for_body(struct carried *c, struct draft *d, size_t head_size)
{
	bool is_refused = false;

	d->rule = find_rule(c, d);
	if (!draft_needs_body(d))
		return 1;
	if (!body_is_there(c, d, head_size, &is_refused))
		return 0;
	return is_refused ? -1 : 1;
}

/* Returns false when the request has to wait for its body. */
static bool take_head(struct carried *c, size_t size)
{
	struct span raw = {c->client.in.data, size};
	struct http_head head;
	struct draft d;
	enum decision_code code = DECISION_BAD_REQUEST;

	arena_reset(&c->arena);
	c->rule = NULL;
	char *text = arena_copy(&c->arena, raw);

	if (head_parse(text, size, &head) == FAULT_NONE) {
		draft_begin(&d, &c->arena, &head, c->host);
		int body = wait_for_body(c, &d, size);

		if (body == 0)
			return false;
		code = body < 0 ? DECISION_BAD_REQUEST : judge_request(c, &d);
	}
	if (code == DECISION_OK)
		code = complete_draft(c, &d, size);
	if (code != DECISION_OK) {
		carried_refuse(c, code, raw);
		return true;
	}
	draft_write(&c->server.out, &d);
	note_request(c, &d);
	buf_consume(&c->client.in, size);
	return true;
}

static bool begin_request(struct carried *c)
{
	size_t size = 0;
	enum http_fault fault;

	if (c->client.in.size == 0)
		return true;
	fault = head_find_end(buf_span(&c->client.in), &c->client.scanned, &size);
	if (!fault)
		fault = head_check_size(buf_span(&c->client.in), size, CARRY_HEAD_MAX);
	if (fault) {
		c->rule = NULL;
		carried_refuse(c, DECISION_BAD_REQUEST, (struct span){NULL, 0});
		return true;
	}
	/* The fault of the host is told without a connection to it. */
	if (size == 0 || (!c->server.is_open && c->fault == DECISION_OK))
		return true;
	if (take_head(c, size))
		c->client.scanned = 0;
	return true;
}

/* False when the rule's limit of bytes is over. */
static bool count_bytes_out(struct carried *c, size_t size)
{
	struct rule_use *use;

	c->request_bytes += (int64_t)size;
	if (!c->rule)
		return true;
	use = guard_use(c->guard, c->rule);
	use->bytes_out += (int64_t)size;
	return (c->rule->limits.bytes_out_request == 0 ||
	        c->request_bytes <= c->rule->limits.bytes_out_request) &&
	       (c->rule->limits.bytes_out == 0 || use->bytes_out <= c->rule->limits.bytes_out);
}

static void add_request_piece(struct carried *c, struct span piece)
{
	if (c->request_body.chunked)
		buf_addf(&c->server.out, "%zx\r\n", piece.size);
	buf_add_span(&c->server.out, piece);
	if (c->request_body.chunked)
		buf_add_text(&c->server.out, "\r\n");
}

static bool move_request_body(struct carried *c)
{
	struct span rest = buf_span(&c->client.in), piece;
	enum body_result result;

	while (c->server.out.size < CARRY_OUT_MAX) {
		result = body_next(&c->request_body, &rest, &piece);
		if (result == BODY_BAD)
			return false;
		if (result == BODY_PIECE) {
			if (!count_bytes_out(c, piece.size))
				return false;
			add_request_piece(c, piece);
			continue;
		}
		if (result == BODY_END) {
			if (c->request_body.chunked)
				buf_add_text(&c->server.out, "0\r\n\r\n");
			c->request_state = REQUEST_SENT;
		}
		break;
	}
	buf_consume(&c->client.in, c->client.in.size - rest.size);
	return true;
}

bool carried_requests(struct carried *c)
{
	if (c->is_closing) {
		buf_reset(&c->client.in);
		return true;
	}
	if (c->answer_state == ANSWER_TUNNEL) {
		buf_add_span(&c->server.out, buf_span(&c->client.in));
		buf_reset(&c->client.in);
		return true;
	}
	if (c->request_state == REQUEST_HEAD && !begin_request(c))
		return false;
	return c->request_state != REQUEST_BODY || move_request_body(c);
}
