/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/passage/guard.h"

#include <stdlib.h>
#include <string.h>

#include "credential/passage/mask.h"
#include "http/tls/certificate.h"
#include "http/tls/tls.h"

#define LEAVES_MAX 256 /* 20 KiB each */
#define LEAF_DAYS 7
#define SECOND_MS 1000

static size_t list_values(const struct credential_set *set, const char **ret)
{
	size_t count = 0;

	for (size_t i = 0; i < set->credentials.count; i++) {
		const struct credential_values *c =
		        (const struct credential_values *)set->credentials.items + i;

		for (size_t j = 0; j < c->fields.count; j++)
			ret[count++] = c->fields.pairs[j].value;
	}
	return count;
}

static int open_upstreams(struct guard *g, struct error *err)
{
	for (size_t i = 0; i < g->rules.rules.count; i++) {
		const char *ca = credential_rule_at(&g->rules, i)->upstream.ca;

		if (ca && ca[0] &&
		    tls_client_context_of(span_of(ca), &g->uses[i].upstream, err) < 0)
			return FAIL_CONTEXT(err, "upstream.ca of rule '%s'",
			                    credential_rule_at(&g->rules, i)->id);
	}
	return 0;
}

static void done_guard(struct guard **g)
{
	guard_free(*g);
}

int guard_new(struct span text, struct guard **ret, struct error *err)
{
	AUTO(done_guard) struct guard *g = memory_new(sizeof(*g));
	const char **values;

	list_init(&g->connections);
	g->memory_max = GUARD_MEMORY_MAX;
	g->text = arena_copy(&g->arena, text);
	if (credential_set_parse(&g->arena, text, &g->set, err) < 0)
		return -1;
	g->rules.rules = g->set.rules;
	g->uses = memory_array(g->rules.rules.count + 1, sizeof(*g->uses));
	values = ARENA_ARRAY(&g->arena, const char *, CREDENTIALS_MAX *CREDENTIAL_FIELDS_MAX + 1);
	g->mask = mask_new(values, list_values(&g->set, values));
	if (open_upstreams(g, err) < 0)
		return -1;
	if (!guard_leaf(g, "atoll.invalid"))
		return FAIL(err, ERROR_INVALID, "the sandbox's authority cannot sign");
	*ret = TAKE(g);
	return 0;
}

void guard_free(struct guard *g)
{
	const char *host;
	size_t at = 0;
	void *leaf;

	if (!g)
		return;
	while ((leaf = map_next(&g->leaves, &at, &host)))
		tls_context_free(leaf);
	map_done(&g->leaves);
	for (size_t i = 0; g->uses && i < g->rules.rules.count; i++)
		tls_context_free(g->uses[i].upstream);
	free(g->uses);
	mask_free(g->mask);
	arena_done(&g->arena);
	free(g);
}

void guard_inherit(struct guard *g, const struct guard *before)
{
	g->holds = before->holds;
	for (size_t i = 0; i < g->rules.rules.count; i++)
		for (size_t j = 0; j < before->rules.rules.count; j++) {
			const struct rule_use *old = &before->uses[j];
			struct rule_use *use = &g->uses[i];

			if (strcmp(credential_rule_at(&g->rules, i)->id,
			           credential_rule_at(&before->rules, j)->id) != 0)
				continue;
			use->tokens_ms = old->tokens_ms;
			use->since_ms = old->since_ms;
			use->requests = old->requests;
			use->bytes_out = old->bytes_out;
			use->bytes_in = old->bytes_in;
		}
}

static void forget_leaves(struct guard *g)
{
	const char *host;
	size_t at = 0;
	void *leaf;

	while ((leaf = map_next(&g->leaves, &at, &host)))
		tls_context_free(leaf);
	map_done(&g->leaves);
	g->leaves = (struct map){0};
}

static struct tls_context *make_leaf(const struct guard *g, const char *host)
{
	AUTO(certificate_pair_done) struct certificate_pair authority = CERTIFICATE_PAIR;
	AUTO(certificate_pair_done) struct certificate_pair leaf = CERTIFICATE_PAIR;
	const struct certificate_names names = {.names = {host}, .count = 1, .days = LEAF_DAYS};
	struct tls_context *context = NULL;
	struct error ignored = {0};

	buf_add_text(&authority.certificate, g->set.ca_certificate);
	buf_add_text(&authority.key, g->set.ca_key);
	if (certificate_make(&names, &authority, &leaf, &ignored) < 0)
		return NULL;
	buf_add_span(&leaf.certificate, buf_span(&leaf.key));
	if (tls_context_new(buf_span(&leaf.certificate), &context, &ignored) < 0)
		return NULL;
	return context;
}

struct tls_context *guard_leaf(struct guard *g, const char *host)
{
	struct tls_context *leaf = map_find(&g->leaves, host);

	if (leaf)
		return leaf;
	/* Names below "*.NAME" are the sandbox's choice. Connections hold their contexts. */
	if (g->leaves.count >= LEAVES_MAX)
		forget_leaves(g);
	leaf = make_leaf(g, host);
	if (leaf)
		(void)map_put(&g->leaves, host, leaf);
	return leaf;
}

const struct tls_context *guard_upstream(const struct guard *g, const char *host)
{
	for (size_t i = 0; i < g->rules.rules.count; i++)
		if (g->uses[i].upstream &&
		    credential_host_has(credential_rule_at(&g->rules, i)->host, span_of(host)))
			return g->uses[i].upstream;
	return NULL;
}

struct rule_use *guard_use(const struct guard *g, const struct credential_rule *rule)
{
	return &g->uses[rule - credential_rule_at(&g->rules, 0)];
}

struct use_check {
	const struct guard *guard;
	const char *host;
	int64_t now_ms;
};

/* Answers an enum decision_code: the first one that is not DECISION_OK ends the search. */
static int check_use(void *context, const struct credential_reference *reference)
{
	const struct use_check *check = context;
	const struct credential_values *c = credential_find(&check->guard->set, reference->name);

	if (!c || (c->expires_at > 0 && c->expires_at <= check->now_ms))
		return DECISION_CREDENTIAL_EXPIRED;
	for (size_t i = 0; c->hosts[i]; i++)
		if (credential_host_has(c->hosts[i], span_of(check->host)))
			return DECISION_OK;
	return DECISION_CREDENTIAL_HOST;
}

enum decision_code guard_may_use(const struct guard *g, const struct credential_rule *rule,
                                 const char *host, int64_t now_ms)
{
	struct use_check check = {g, host, now_ms};

	if (rule->expires_at != 0 && rule->expires_at <= now_ms)
		return DECISION_CREDENTIAL_EXPIRED;
	return (enum decision_code)credential_rule_references(rule, check_use, &check);
}

enum credential_http2 guard_http2(const struct guard *g, const char *host)
{
	for (size_t i = 0; i < g->rules.rules.count; i++) {
		const struct credential_rule *rule = credential_rule_at(&g->rules, i);

		if (rule->upstream.http2 != HTTP2_AS_CLIENT &&
		    credential_host_has(rule->host, span_of(host)))
			return (enum credential_http2)rule->upstream.http2;
	}
	return HTTP2_AS_CLIENT;
}

bool guard_take_request(struct rule_use *use, const struct credential_limits *limits,
                        int64_t monotonic_ms)
{
	int64_t rate = limits->requests_per_second;
	int64_t burst = limits->burst > 0 ? limits->burst : rate;

	if ((limits->requests > 0 && use->requests >= limits->requests) ||
	    (limits->bytes_out > 0 && use->bytes_out >= limits->bytes_out) ||
	    (limits->bytes_in > 0 && use->bytes_in >= limits->bytes_in))
		return false;
	if (rate > 0) {
		/* In thousandths of a request, so that no rate is rounded. */
		int64_t passed = use->since_ms > 0 ? monotonic_ms - use->since_ms : INT32_MAX;
		int64_t most = burst * SECOND_MS;
		int64_t gained =
		        passed > INT32_MAX / 1000 || rate > INT32_MAX ? most : passed * rate;

		use->tokens_ms = use->tokens_ms + gained < most ? use->tokens_ms + gained : most;
		use->since_ms = monotonic_ms;
		if (use->tokens_ms < SECOND_MS)
			return false;
		use->tokens_ms -= SECOND_MS;
	}
	use->requests++;
	return true;
}

void guard_charge(struct guard *g, size_t *held, size_t now)
{
	g->memory = g->memory - *held + now;
	*held = now;
	if (g->memory >= g->memory_max)
		g->is_full = true;
	else if (g->memory < g->memory_max - g->memory_max / 8)
		g->is_full = false;
}

bool guard_has_room(const struct guard *g, size_t size)
{
	return !g->is_full && g->memory + size <= g->memory_max - g->memory_max / 4;
}

bool guard_take_report(struct guard *g, int64_t monotonic_ms)
{
	if (monotonic_ms - g->reports_since_ms >= SECOND_MS) {
		g->reports = 0;
		g->reports_since_ms = monotonic_ms;
	}
	if (g->reports >= GUARD_REPORTS_MAX)
		return false;
	g->reports++;
	return true;
}

bool guard_take_hold(struct guard *g)
{
	if (g->holds >= GUARD_HOLDS_MAX)
		return false;
	g->holds++;
	return true;
}

void guard_end_hold(struct guard *g)
{
	if (g->holds > 0)
		g->holds--;
}
