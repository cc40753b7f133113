/* SPDX-License-Identifier: Apache-2.0 */
/* E2B's rules of a network: headers that requests to a host get outside of the sandbox. They become
 * rules of credentials (credential/rule.h). A value in a request is a secret: it is kept encrypted,
 * and answers show "***". Its placeholders name secrets of the project. */
#include "surface/e2b/rules.h"

#include <ctype.h>
#include <string.h>

#include "credential/rule.h"
#include "fleet/lifecycle/create.h"
#include "grant/grant.h"
#include "http/server/http.h"
#include "json/json.h"
#include "json/write.h"
#include "sandbox/egress.h"
#include "store/sandbox_record.h"
#include "surface/e2b/e2b.h"

#define DOMAINS_MAX 10
#define DOMAIN_SIZE_MAX 128
#define HEADERS_MAX 20
#define HEADER_NAME_MAX 64
#define HEADER_VALUE_MAX 2048
#define SECRET_NAME_MAX 128
#define SOURCE E2B_RULES_SOURCE
#define OPEN "${"
#define OF_SECRETS "${e2b.secrets."
#define OF_TOKENS "${e2b.identity."
#define OF_A_SECRET "${credential." GRANT_SECRET
#define OF_A_LITERAL "${credential." GRANT_LITERAL
#define HIDDEN "***"

/* The rule of one domain that is being read. */
struct domain_reading {
	struct request *rq;
	const char *domain;
	struct credential_inject *items;
	size_t count;
	/* The injects whose values were literal. */
	struct credential_inject *literals[HEADERS_MAX];
	size_t literal_count;
};

static int fail_rule(const char *domain, const char *what, struct error *err)
{
	return FAIL(err, ERROR_INVALID, "network.rules: '%.128s': %s", domain, what);
}

static int check_domain(const char *domain, struct error *err)
{
	if (strlen(domain) > DOMAIN_SIZE_MAX || domain[0] == '*' ||
	    !egress_name_is_valid(span_of(domain)))
		return fail_rule(domain,
		                 "is not a domain name of at most 128 characters; wildcards are "
		                 "not supported",
		                 err);
	return 0;
}

/* Moves past a placeholder and writes what stands for it. */
static int convert_placeholder(const char *domain, struct span *rest, struct buf *out,
                               struct error *err)
{
	ptrdiff_t end = span_find(*rest, '}');
	struct span name;

	if (end < 0)
		return fail_rule(domain, "a placeholder is not closed", err);
	if (span_starts_with(*rest, OF_TOKENS))
		return FAIL(err, ERROR_UNSUPPORTED,
		            "network.rules: identity tokens are not supported by this server");
	if (!span_starts_with(*rest, OF_SECRETS))
		return fail_rule(domain, "a placeholder is not ${e2b.secrets.NAME}", err);
	name = (struct span){rest->data + strlen(OF_SECRETS), (size_t)end - strlen(OF_SECRETS)};
	if (name.size == 0 || name.size > SECRET_NAME_MAX)
		return fail_rule(domain, "a placeholder has no name", err);
	buf_add_text(out, OF_A_SECRET);
	for (size_t i = 0; i < name.size; i++) {
		unsigned char c = (unsigned char)name.data[i];

		if (c >= 0x80 || (!isalnum(c) && c != '_' && c != '-'))
			return fail_rule(domain, "a placeholder has a malformed name", err);
		buf_add_byte(out, (char)tolower(c));
	}
	buf_add_text(out, "." GRANT_SECRET_FIELD "}");
	span_skip(rest, (size_t)end + 1);
	return 0;
}

/* A value with placeholders is a template; another one is a literal. */
static int read_value(struct domain_reading *d, const char *text, struct credential_inject *n,
                      struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(2 * CREDENTIAL_VALUE_MAX);
	struct span rest = span_of(text);

	if (!text[0] || rest.size > HEADER_VALUE_MAX)
		return fail_rule(d->domain, "a header's value has 1 to 2048 characters", err);
	if (!strstr(text, "${e2b.")) {
		d->literals[d->literal_count++] = n;
		n->value = text;
		return 0;
	}
	while (rest.size > 0) {
		const char *open = memmem(rest.data, rest.size, OPEN, strlen(OPEN));

		buf_add_span(&out, span_take(&rest, open ? (size_t)(open - rest.data) : rest.size));
		if (open && convert_placeholder(d->domain, &rest, &out, err) < 0)
			return -1;
	}
	n->value = arena_copy(d->rq->arena, buf_span(&out));
	return 0;
}

static int read_headers(struct domain_reading *d, const struct json_value *headers,
                        struct error *err)
{
	size_t count = json_count(headers);

	if (count > HEADERS_MAX)
		return fail_rule(d->domain, "has more than 20 headers", err);
	d->items = ARENA_ARRAY(d->rq->arena, struct credential_inject, count + 1);
	for (size_t i = 0; i < count; i++) {
		struct credential_inject *n = &d->items[d->count++];
		const char *name, *value = json_text(json_member_at(headers, i, &name), NULL);

		*n = (struct credential_inject){.kind = INJECT_HEADER, .name = name};
		if (!value)
			return fail_rule(d->domain, "a header's value is not a text", err);
		if (strlen(name) > HEADER_NAME_MAX)
			return fail_rule(d->domain, "a header's name is longer than 64 characters",
			                 err);
		if (read_value(d, value, n, err) < 0)
			return -1;
	}
	return 0;
}

/* Replaces the literals by templates that stand for them. */
static int keep_literals(struct domain_reading *d, struct error *err)
{
	for (size_t at = 0; at < d->literal_count; at += GRANT_KEEP_MAX) {
		const char *values[GRANT_KEEP_MAX], *templates[GRANT_KEEP_MAX];
		size_t left = d->literal_count - at;
		struct grant_literals wish = {
		        .project_id = api_project(d->rq),
		        .host = d->domain,
		        .values = values,
		        .count = left < GRANT_KEEP_MAX ? left : GRANT_KEEP_MAX,
		};

		for (size_t i = 0; i < wish.count; i++)
			values[i] = d->literals[at + i]->value;
		if (grant_keep(api_of(d->rq)->grants, d->rq->arena, &wish, templates, err) < 0)
			return FAIL_CONTEXT(err, "network.rules: '%.128s'", d->domain);
		for (size_t i = 0; i < wish.count; i++)
			d->literals[at + i]->value = templates[i];
	}
	return 0;
}

/* *ret without an id: there is nothing to put in. */
static int read_domain(struct request *rq, const char *domain, const struct json_value *list,
                       struct credential_rule *ret, struct domain_reading *ret_reading,
                       struct error *err)
{
	const struct json_value *rule = json_item_at(list, 0);
	struct domain_reading d = {.rq = rq, .domain = domain};

	*ret = (struct credential_rule){.host = domain};
	if (check_domain(domain, err) < 0)
		return -1;
	if (json_count(list) > 1)
		return fail_rule(domain, "has more than one rule", err);
	if (read_headers(&d, json_get(json_get(rule, "transform"), "headers"), err) < 0)
		return -1;
	*ret_reading = d;
	ret->action = CREDENTIAL_INJECT;
	ret->inject = (struct json_list){d.items, d.count, true};
	ret->websocket = true;
	ret->source = SOURCE;
	return 0;
}

/* Nothing is kept before all domains are sound. */
static int read_rules(struct request *rq, const struct json_value *all,
                      struct credential_rules *ret, struct error *err)
{
	struct domain_reading *readings =
	        ARENA_ARRAY(rq->arena, struct domain_reading, DOMAINS_MAX);
	size_t count = json_count(all), kept = 0;
	struct credential_rule *rules;

	if (count > DOMAINS_MAX)
		return FAIL(err, ERROR_INVALID, "network.rules: at most %d domains are allowed",
		            DOMAINS_MAX);
	rules = ARENA_ARRAY(rq->arena, struct credential_rule, count + 1);
	for (size_t i = 0; i < count; i++) {
		const char *domain;
		const struct json_value *list = json_member_at(all, i, &domain);

		if (read_domain(rq, domain, list, &rules[kept], &readings[i], err) < 0)
			return -1;
		rules[kept].id = arena_format(rq->arena, SOURCE "-%zu", kept + 1);
		kept += rules[kept].inject.count > 0;
	}
	for (size_t i = 0; i < count; i++)
		if (keep_literals(&readings[i], err) < 0)
			return -1;
	*ret = (struct credential_rules){{rules, kept, true}};
	return 0;
}

/* A sandbox that may reach everything has to be led through the gateway, which otherwise sees the
 * allowed names of a sandbox alone. */
static int lead_through_gateway(struct arena *a, const struct credential_rules *rules,
                                const char **egress, struct error *err)
{
	static const char *const everything[] = {SANDBOX_EGRESS_ALL, NULL};
	const char **hosts = ARENA_ARRAY(a, const char *, rules->rules.count + 1);
	const struct sandbox_egress lists = {
	        .allow = hosts, .deny = everything, .mode = EGRESS_WATCH};

	if (**egress)
		return 0;
	for (size_t i = 0; i < rules->rules.count; i++)
		hosts[i] = credential_rule_at(rules, i)->host;
	hosts[rules->rules.count] = NULL;
	return sandbox_egress_format(a, &lists, egress, err);
}

int e2b_rules_read(struct request *rq, const struct e2b_network *n, struct e2b_access *access,
                   struct credential_rules *ret, struct error *err)
{
	const struct json_value *all;

	*ret = (struct credential_rules){{NULL, 0, true}};
	if (n->rules.size == 0)
		return 0;
	if (json_load(rq->arena, n->rules, &all, err) < 0)
		return FAIL_CONTEXT(err, "network.rules");
	if (json_count(all) > 0 && !api_of(rq)->grants)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "network.rules is not supported: this server has no credential proxy");
	if (json_count(all) > 0 && access->internet == 0)
		return FAIL(err, ERROR_INVALID, "network.rules: the sandbox has no network");
	if (read_rules(rq, all, ret, err) < 0)
		return -1;
	if (ret->rules.count == 0)
		return 0;
	return lead_through_gateway(rq->arena, ret, &access->egress, err);
}

int e2b_rules_prepare(struct request *rq, const struct e2b_network *n, struct e2b_access *access,
                      struct fleet_create *ret, struct error *err)
{
	struct credential_rules rules;
	struct grant_wish wish = {
	        .project_id = ret->project_id, .owner_id = ret->user_id, .rules = &rules};
	const char *text;

	if (e2b_rules_read(rq, n, access, &rules, err) < 0)
		return -1;
	ret->internet = access->internet;
	ret->egress = access->egress;
	if (rules.rules.count == 0)
		return 0;
	ret->internet = 1;
	wish.egress = access->egress;
	if (grant_check(api_of(rq)->grants, rq->arena, &wish, &text, &ret->egress, err) < 0)
		return FAIL_CONTEXT(err, "network.rules");
	grant_prepare_create(rq->arena, text, ret);
	return 0;
}

/* The value as E2B's clients wrote it, without what they must not read. */
static const char *show_value(struct arena *a, const char *template)
{
	AUTO(buf_done) struct buf out = BUF(2 * CREDENTIAL_VALUE_MAX);
	struct span rest = span_of(template);
	const char *found;

	if (strstr(template, OF_A_LITERAL))
		return HIDDEN;
	while ((found = memmem(rest.data, rest.size, OF_A_SECRET, strlen(OF_A_SECRET)))) {
		struct span name;

		buf_add_span(&out, span_take(&rest, (size_t)(found - rest.data)));
		span_skip(&rest, strlen(OF_A_SECRET));
		(void)span_split(&rest, '.', &name);
		buf_addf(&out, OF_SECRETS "%.*s}", (int)name.size, name.data);
		(void)span_split(&rest, '}', &name);
	}
	buf_add_span(&out, rest);
	return arena_copy(a, buf_span(&out));
}

static void write_rule(struct arena *a, struct buf *out, const struct credential_rule *rule)
{
	const struct credential_inject *items = rule->inject.items;

	json_begin_list(out, rule->host);
	json_begin_object(out, NULL);
	json_begin_object(out, "transform");
	json_begin_object(out, "headers");
	for (size_t i = 0; i < rule->inject.count; i++)
		json_add_text(out, items[i].name, show_value(a, items[i].value));
	json_end_object(out);
	json_end_object(out);
	json_end_object(out);
	json_end_list(out);
}

struct span e2b_rules_show(struct arena *a, const struct sandbox_record *r)
{
	AUTO(buf_done) struct buf out = BUF(2 * CREDENTIAL_RULES_TEXT_MAX);
	struct credential_rules rules;
	struct error ignored = {0};
	size_t count = 0;

	if (!*r->rules_json ||
	    credential_rules_parse(a, span_of(r->rules_json), &rules, NULL, &ignored) < 0)
		return (struct span){NULL, 0};
	json_begin_object(&out, NULL);
	for (size_t i = 0; i < rules.rules.count; i++) {
		const struct credential_rule *rule = credential_rule_at(&rules, i);

		if (!rule->source || strcmp(rule->source, SOURCE) != 0)
			continue;
		write_rule(a, &out, rule);
		count++;
	}
	json_end_object(&out);
	return count > 0 && !out.overflowed ? span_of(arena_copy(a, buf_span(&out)))
	                                    : (struct span){NULL, 0};
}
