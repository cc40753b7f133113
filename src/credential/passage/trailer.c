/* SPDX-License-Identifier: Apache-2.0 */
/* Which trailers of a request reach the host. */
#include <string.h>

#include "credential/passage/passage.h"
#include "credential/passage/guard.h"

/* A server may take a trailer for a header. So none passes that is about framing, routing, the
 * connection, authentication, conditions or the kind of the body (RFC 9110, 6.5.1), or that names
 * another method than the one that rules saw. */
static const char *const refused[] = {"accept-encoding",
                                      "authorization",
                                      "cache-control",
                                      "connection",
                                      "content-encoding",
                                      "content-length",
                                      "content-range",
                                      "content-type",
                                      "cookie",
                                      "expect",
                                      "forwarded",
                                      "host",
                                      "http2-settings",
                                      "keep-alive",
                                      "max-forwards",
                                      "proxy-authorization",
                                      "proxy-connection",
                                      "range",
                                      "set-cookie",
                                      "te",
                                      "trailer",
                                      "transfer-encoding",
                                      "upgrade",
                                      "x-amz-security-token",
                                      "x-http-method",
                                      "x-http-method-override",
                                      "x-method-override",
                                      NULL};
static const char *const refused_begins[] = {"if-", "sec-", "x-forwarded-"};

/* A rule that matches by a header has not seen the trailer of that name. */
static bool is_matched(const struct credential_rule *rule, const char *name)
{
	const struct credential_field_match *fields = rule->match.headers.items;

	for (size_t i = 0; i < rule->match.headers.count; i++)
		if (draft_is_same_name(fields[i].name, name))
			return true;
	return false;
}

static bool is_of_rules(const struct passage *x, const char *name)
{
	const struct credential_rules *rules = &x->connection->guard->rules;

	for (size_t i = 0; i < rules->rules.count; i++) {
		const struct credential_rule *rule = credential_rule_at(rules, i);

		if (credential_host_has(rule->host, span_of(x->connection->host)) &&
		    is_matched(rule, name))
			return true;
	}
	return x->rule && (draft_is_secret(&x->draft, name) ||
	                   draft_name_is_of(name, (const char *const *)x->rule->remove));
}

static bool may_pass(const struct passage *x, const char *name)
{
	for (size_t i = 0; i < COUNT_OF(refused_begins); i++)
		if (span_starts_with_word(span_of(name), refused_begins[i]))
			return false;
	return !draft_name_is_of(name, refused) && !is_of_rules(x, name);
}

void passage_take_request_trailers(struct passage *x, const struct http_head *h)
{
	struct head_field *kept;
	size_t count = 0;

	/* What is gathered is signed, and a trailer is not in the signature. */
	if (x->request_state == REQUEST_GATHERED || x->request_state == REQUEST_OVER)
		return;
	kept = ARENA_ARRAY(&x->arena, struct head_field, (size_t)h->field_count + 1);
	for (unsigned i = 0; i < h->field_count; i++)
		if (may_pass(x, h->fields[i].name))
			kept[count++] = h->fields[i];
	x->request_trailers = kept;
	x->request_trailer_count = count;
}
