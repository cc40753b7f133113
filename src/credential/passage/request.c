/* SPDX-License-Identifier: Apache-2.0 */
/* What rules do to a request. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "credential/passage/passage.h"
#include "credential/passage/guard.h"
#include "credential/passage/parts.h"
#include "credential/passage/wire.h"
#include "egress/refusal.h"
#include "http/message/websocket.h"

#define REPORT_MS 1000
#define GRPC_REFUSED "7" /* PERMISSION_DENIED */
#define GRPC_LATER "14"  /* UNAVAILABLE */
#define GRPC_LIMIT "8"   /* RESOURCE_EXHAUSTED */

/* Copies the name of the first credential that a rule has. */
static int take_name(void *context, const struct credential_reference *reference)
{
	struct network_decision *d = context;
	struct error err = {0};

	(void)snprintf(d->credential, sizeof(d->credential), "%.*s", (int)reference->name.size,
	               reference->name.data);
	/* A report with another name would be no sound decision. */
	if (credential_name_check(d->credential, &err) < 0)
		d->credential[0] = '\0';
	return 1;
}

static void fill_decision(const struct passage_connection *c, const struct credential_rule *rule,
                          enum decision_code code, struct network_decision *ret)
{
	*ret = (struct network_decision){
	        .address = c->address,
	        .address6 = c->address6,
	        .port = c->is_plain ? CREDENTIAL_PLAIN_PORT : CREDENTIAL_PORT,
	        .verdict = code == DECISION_OK ? DECISION_ALLOWED : DECISION_DENIED,
	        .code = (uint8_t)code,
	        .protocol = c->is_plain ? DECISION_HTTP : DECISION_TLS,
	        .count = 1};
	(void)snprintf(ret->sandbox, sizeof(ret->sandbox), "%s", c->guard->set.sandbox);
	(void)snprintf(ret->host, sizeof(ret->host), "%s", c->host);
	(void)snprintf(ret->rule, sizeof(ret->rule), "%s", rule ? rule->id : "");
	if (rule)
		(void)credential_rule_references(rule, take_name, ret);
}

static bool field_begins(const struct passage *x, const char *name, const char *begin)
{
	const char *value = head_find(&x->head, name);

	return value && strncasecmp(value, begin, strlen(begin)) == 0;
}

/* Why the server lets the rule refuse, and what to do; what people noted is theirs. */
static const char *find_problem(const struct passage *x)
{
	const struct credential_rule *rule = x->rule;

	return rule && rule->action == CREDENTIAL_DENY && rule->source &&
	                       strcmp(rule->source, CREDENTIAL_SOURCE_PROBLEM) == 0
	               ? rule->note
	               : NULL;
}

static const char *grpc_status(enum decision_code code)
{
	if (code == DECISION_LIMIT)
		return GRPC_LIMIT;
	return code == DECISION_UPSTREAM_UNREACHABLE ? GRPC_LATER : GRPC_REFUSED;
}

/* A client of gRPC reads two headers, and no body. */
static void answer_grpc(struct passage *x, const struct network_decision *d)
{
	AUTO(buf_done) struct buf message = BUF(4096);
	struct head_field fields[] = {{"content-type", "application/grpc"},
	                              {"grpc-status", grpc_status((enum decision_code)d->code)},
	                              {"grpc-message", NULL},
	                              {"x-atoll-refused", decision_codes[d->code]}};
	const struct passage_head head = {.status = 200,
	                                  .reason = "OK",
	                                  .fields = fields,
	                                  .count = COUNT_OF(fields),
	                                  .content_length = -1,
	                                  .has_body = true,
	                                  .is_whole = true};
	struct wire *client = x->connection->client;

	refusal_add_message(&message, d, find_problem(x));
	fields[2].value = buf_text(&message);
	x->answer_state = ANSWER_BODY;
	client->calls->on_head(client, x, &head);
}

static void answer_refusal(struct passage *x, const struct network_decision *d)
{
	struct wire *client = x->connection->client;
	struct refusal_answer r;

	refusal_make(&r, d, find_problem(x), field_begins(x, "user-agent", "git/"));
	struct head_field fields[] = {{"Content-Type", r.content_type},
	                              {"Cache-Control", "no-store"},
	                              {"X-Atoll-Refused", r.code},
	                              {"Retry-After", r.retry_after}};
	const struct passage_head head = {.status = r.status,
	                                  .reason = r.reason,
	                                  .fields = fields,
	                                  .count = COUNT_OF(fields) - (r.retry_after ? 0 : 1),
	                                  .content_length = (int64_t)r.body.size,
	                                  .has_body = !x->head.method ||
	                                              strcmp(x->head.method, "HEAD") != 0};

	x->answer_state = ANSWER_BODY;
	client->calls->on_head(client, x, &head);
	if (head.has_body)
		buf_add_span(&x->answer.bytes, buf_span(&r.body));
	x->answer.ready = x->answer.bytes.size;
	buf_done(&r.body);
}

void passage_refuse(struct passage *x, enum decision_code code)
{
	struct passage_connection *c = x->connection;
	struct network_decision d;

	passage_forget_host(x);
	x->request_state = REQUEST_OVER;
	buf_reset(&x->request.bytes);
	x->request.sent = x->request.ready = 0;
	fill_decision(c, x->rule, code, &d);
	c->report(c->context, &d);
	if (field_begins(x, "content-type", "application/grpc"))
		answer_grpc(x, &d);
	else
		answer_refusal(x, &d);
	x->answer.has_ended = true;
}

/* "api.example.com", also with the port of the connection. */
static bool is_same_host(const struct passage *x, const char *host)
{
	struct span port = x->connection->is_plain ? SPAN(":80") : SPAN(":443");
	struct span name = span_of(host);

	if (span_ends_with_word(name, port))
		name.size -= port.size;
	return host && span_is_word(name, x->connection->host);
}

static bool method_is_refused(const char *method)
{
	static const char *const refused[] = {"CONNECT", "TRACE", "TRACK", NULL};

	return head_name_is_of(method, refused);
}

static const struct credential_rule *find_rule(const struct passage *x)
{
	struct credential_request_field headers[HEAD_FIELDS_MAX];
	const struct http_head *h = &x->head;
	const struct credential_request request = {
	        .host = span_of(x->connection->host),
	        .method = span_of(h->method),
	        .path = span_of(x->draft.path),
	        .query = span_of(x->draft.query),
	        .scheme = x->connection->is_plain ? CREDENTIAL_HTTP : CREDENTIAL_HTTPS,
	        .headers = headers,
	        .header_count = h->field_count};

	for (unsigned i = 0; i < h->field_count; i++)
		headers[i] = (struct credential_request_field){span_of(h->fields[i].name),
		                                               span_of(h->fields[i].value)};
	return credential_rules_find(&x->connection->guard->rules, &request);
}

/* Counts the connection for the rule, once. False: the rule has its connections. */
static bool take_connection(struct passage_connection *c, const struct credential_rule *rule)
{
	struct rule_use *use = guard_use(c->guard, rule);
	size_t number = (size_t)(use - c->guard->uses);
	uint64_t *bits = &c->rules_used[number / 64], bit = UINT64_C(1) << number % 64;

	if (*bits & bit)
		return true;
	if (rule->limits.connections > 0 && use->connections >= rule->limits.connections)
		return false;
	*bits |= bit;
	use->connections++;
	return true;
}

/* What the request's rule says about it. */
static enum decision_code judge_rule(struct passage *x)
{
	struct passage_connection *c = x->connection;
	const struct credential_rule *rule = x->rule;
	enum decision_code code;

	if (rule->action == CREDENTIAL_DENY)
		return DECISION_RULE_DENIED;
	if (x->draft.is_websocket && rule->action == CREDENTIAL_INJECT && !rule->websocket)
		return DECISION_RULE_DENIED;
	code = guard_may_use(c->guard, rule, c->host, clock_unix_ms());
	if (code != DECISION_OK)
		return code;
	if (rule->limits.bytes_out_request > 0 &&
	    x->head.content_length > rule->limits.bytes_out_request)
		return DECISION_LIMIT;
	return take_connection(c, rule) && guard_take_request(guard_use(c->guard, rule),
	                                                      &rule->limits, c->now_ms)
	               ? DECISION_OK
	               : DECISION_LIMIT;
}

static enum decision_code judge_request(struct passage *x)
{
	const struct passage_connection *c = x->connection;
	const struct http_head *h = &x->head;
	bool is_star = span_equals_text(h->target, "*");
	struct span path = span_of(x->draft.path);

	if (!h->known[HEAD_HOST] || !is_same_host(x, h->known[HEAD_HOST]))
		return DECISION_HOST_MISMATCH;
	if (method_is_refused(h->method) || (!is_star && credential_path_fault(path, true)))
		return DECISION_BAD_REQUEST;
	x->rule = x->draft.rule;
	if (!is_star && credential_path_fault(path, x->rule && x->rule->match.encoded_slash))
		return DECISION_BAD_REQUEST;
	/* HTTP/2 opens WebSockets in another way, which the proxy does not speak. */
	if (x->draft.is_websocket && c->host_is_http2)
		return DECISION_BAD_REQUEST;
	if (c->fault != DECISION_OK)
		return c->fault;
	return x->rule ? judge_rule(x) : DECISION_OK;
}

void passage_report(struct passage_connection *c)
{
	struct network_decision d;

	if (c->counted == 0)
		return;
	fill_decision(c, c->counted_rule, DECISION_OK, &d);
	d.count = c->counted;
	c->counted = 0;
	c->report(c->context, &d);
}

/* The first request of a rule is reported at once, further ones each second. */
static void count_request(struct passage *x)
{
	struct passage_connection *c = x->connection;

	if (c->counted_rule != x->rule)
		passage_report(c);
	if (c->counted_rule != x->rule || c->reported_ms == 0)
		c->reported_ms = c->now_ms - REPORT_MS;
	c->counted_rule = x->rule;
	c->counted++;
	if (c->now_ms - c->reported_ms < REPORT_MS)
		return;
	passage_report(c);
	c->reported_ms = c->now_ms;
}

/* False when the rule's limit of bytes is over. */
static bool count_bytes_out(struct passage *x, size_t size)
{
	struct rule_use *use;

	if (!x->rule)
		return true;
	use = guard_use(x->connection->guard, x->rule);
	use->bytes_out += (int64_t)size;
	return (x->rule->limits.bytes_out_request == 0 ||
	        x->request_bytes <= x->rule->limits.bytes_out_request) &&
	       (x->rule->limits.bytes_out == 0 || use->bytes_out <= x->rule->limits.bytes_out);
}

static enum decision_code complete_draft(struct passage *x)
{
	struct draft *d = &x->draft;
	struct error err = {0};

	d->set = &x->connection->guard->set;
	d->rule = x->rule;
	if (draft_inject(d, &err) == 0 &&
	    (!draft_signature(d) ||
	     draft_sign(d, buf_span(&x->request.bytes), clock_unix_ms(), &err) == 0))
		return DECISION_OK;
	return err.code == ERROR_FORBIDDEN ? DECISION_RULE_DENIED : DECISION_BAD_REQUEST;
}

static void note_websocket(struct passage *x)
{
	AUTO(buf_done) struct buf accept = BUF(sizeof(x->websocket_accept));

	websocket_write_accept(&accept, x->head.known[HEAD_WEBSOCKET_KEY]);
	(void)snprintf(x->websocket_accept, sizeof(x->websocket_accept), "%s", buf_text(&accept));
}

/* The request is known as far as its rule needs it. */
static void settle_request(struct passage *x)
{
	enum decision_code code = judge_request(x);

	if (code == DECISION_OK)
		code = complete_draft(x);
	if (code == DECISION_OK && !count_bytes_out(x, x->request.bytes.size))
		code = DECISION_LIMIT;
	if (code != DECISION_OK) {
		passage_refuse(x, code);
		return;
	}
	if (x->draft.is_websocket)
		note_websocket(x);
	x->is_masked = !x->rule || x->rule->mask == MASK_ALL;
	x->request_state = REQUEST_READY;
	count_request(x);
}

void passage_take_request(struct passage *x)
{
	struct http_head *h = &x->head;

	if (x->connection->guard->is_full) {
		passage_refuse(x, DECISION_LIMIT);
		return;
	}
	draft_begin(&x->draft, &x->arena, h, x->connection->host);
	x->draft.rule = find_rule(x);
	if (!draft_needs_body(&x->draft)) {
		settle_request(x);
		return;
	}
	/* A client that waits for a word of the host would wait for ever. */
	x->request_state = REQUEST_GATHERED;
	if (h->expects_continue || h->content_length > (int64_t)SIGNED_BODY_MAX)
		passage_refuse(x, DECISION_BAD_REQUEST);
}

static size_t count_held(struct passage_connection *c)
{
	size_t held = 0;

	LIST_EACH (&c->passages, struct passage, x, link)
		held += passage_unsent(&x->request);
	return held;
}

/* Why a body must not be gathered further; DECISION_OK: it may. */
static enum decision_code judge_gathered(const struct passage *x, size_t size)
{
	if (x->request_bytes > (int64_t)SIGNED_BODY_MAX)
		return DECISION_BAD_REQUEST;
	return x->connection->guard->is_full || count_held(x->connection) + size > GATHERED_MAX
	               ? DECISION_LIMIT
	               : DECISION_OK;
}

bool passage_add_request(struct passage *x, struct span piece)
{
	enum decision_code code = DECISION_OK;

	if (x->request_state == REQUEST_OVER && x->answer_state != ANSWER_TUNNEL)
		return true; /* and dropped */
	x->request_bytes += (int64_t)piece.size;
	x->connection->progress += piece.size;
	if (x->head.content_length >= 0 && x->request_bytes > x->head.content_length &&
	    !x->draft.is_websocket) {
		passage_fail(x, DECISION_BAD_REQUEST, WIRE_PROTOCOL_ERROR);
		return false;
	}
	if (x->request_state == REQUEST_GATHERED)
		code = judge_gathered(x, piece.size);
	else if (!count_bytes_out(x, piece.size))
		code = DECISION_LIMIT;
	if (code != DECISION_OK) {
		passage_fail(x, code, WIRE_CALM);
		return false;
	}
	buf_add_span(&x->request.bytes, piece);
	x->request.ready = x->request.bytes.size;
	return !x->request.bytes.overflowed;
}

bool passage_end_request(struct passage *x)
{
	struct http_head *h = &x->head;

	if (x->request_state == REQUEST_OVER)
		return true;
	if (h->content_length >= 0 && x->request_bytes != h->content_length) {
		passage_fail(x, DECISION_BAD_REQUEST, WIRE_PROTOCOL_ERROR);
		return false;
	}
	x->request.has_ended = true;
	if (x->request_state != REQUEST_GATHERED)
		return true;
	/* Its length is known now. */
	h->chunked = false;
	h->content_length = x->request_bytes;
	settle_request(x);
	return true;
}
