/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "credential/rule.h"
#include "sandbox/egress.h"

#define ID_MAX 63
#define MARKER_MIN 8

/* The faults of a document, and the rule that is looked at. */
struct rule_check {
	struct arena *arena;
	struct credential_faults faults;
	unsigned found; /* more than are kept */
	size_t rule;
};

static void add_fault(struct rule_check *c, const char *where, const char *text)
{
	struct credential_fault *fault = &c->faults.items[c->faults.count];

	c->found++;
	if (c->faults.count == CREDENTIAL_FAULTS_MAX)
		return;
	c->faults.count++;
	(void)snprintf(fault->pointer, sizeof(fault->pointer), "/rules/%zu%s", c->rule, where);
	(void)snprintf(fault->text, sizeof(fault->text), "%s", text);
}

static bool is_token(const char *text)
{
	if (!text || !text[0])
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("!#$%&'*+-.^_`|~", *text))
			return false;
	return true;
}

static bool is_id(const char *id)
{
	size_t size = 0, letters = 0;

	for (; id[size]; size++) {
		bool is_letter = id[size] >= 'a' && id[size] <= 'z';

		letters += is_letter;
		if (!is_letter && !isdigit((unsigned char)id[size]) &&
		    (id[size] != '-' || size == 0))
			return false;
	}
	/* A decision takes it as a name, which is no number and ends with no '-'. */
	return letters > 0 && size <= ID_MAX && id[size - 1] != '-';
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
			return false;
	return true;
}

/* Framing and routing are the proxy's: no rule sets or removes them. */
static bool is_own_header(const char *name)
{
	static const char *const names[] = {
	        "host", "content-length", "transfer-encoding", "connection", "upgrade",
	        "te",   "trailer",        "keep-alive",        "expect",     "proxy-connection"};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (span_is_word(span_of(name), names[i]))
			return true;
	return false;
}

static void check_host(struct rule_check *c, struct credential_rule *rule)
{
	char *host = arena_text(c->arena, rule->host);
	size_t size = strlen(host);

	if (size > 1 && host[size - 1] == '.')
		host[size - 1] = '\0';
	for (size_t i = 0; host[i]; i++)
		host[i] = (char)tolower((unsigned char)host[i]);
	rule->host = host;
	if (!egress_name_is_valid(span_of(host)))
		add_fault(c, "/host",
		          "is not a host name such as api.example.com or *.example.com");
}

/* What goes without TLS can be read on the way: no port alone says that it may. */
static void check_scheme(struct rule_check *c, struct credential_rule *rule)
{
	int64_t wanted = rule->scheme == CREDENTIAL_HTTP ? CREDENTIAL_PLAIN_PORT : CREDENTIAL_PORT;

	if (rule->port == 0)
		rule->port = wanted;
	if (rule->port == CREDENTIAL_PLAIN_PORT && rule->scheme != CREDENTIAL_HTTP)
		add_fault(c, "/port",
		          "80 needs \"scheme\": \"http\", because the credential can be read on "
		          "the network");
	else if (rule->port != wanted)
		add_fault(c, "/port", "only 443, and 80 for http, pass through the gateway");
	if (rule->scheme == CREDENTIAL_HTTP && ((rule->upstream.ca && rule->upstream.ca[0]) ||
	                                        rule->upstream.http2 != HTTP2_AS_CLIENT))
		add_fault(c, "/upstream", "is about TLS, which the scheme http has not");
}

static void check_path(struct rule_check *c, const struct credential_path_match *path)
{
	const char *given = path->exact ? path->exact : path->prefix ? path->prefix : path->glob;

	if (!!path->exact + !!path->prefix + !!path->glob > 1)
		add_fault(c, "/match/path", "has more than one of exact, prefix, glob");
	else if (given && given[0] != '/' && given != path->glob)
		add_fault(c, "/match/path", "does not begin with a slash");
	else if (given && given[0] != '/' && given[0] != '*')
		add_fault(c, "/match/path", "does not begin with a slash or a star");
}

static void check_fields(struct rule_check *c, const char *list, const struct json_list *fields)
{
	const struct credential_field_match *items = fields->items;
	const uint64_t has_presence = 1 << 3; /* its row of the shape */
	char where[64];

	for (size_t i = 0; i < fields->count; i++) {
		unsigned given = !!items[i].exact + !!items[i].prefix +
		                 !!(items[i].present & has_presence || items[i].is_there);

		(void)snprintf(where, sizeof(where), "/match/%s/%zu", list, i);
		if (given != 1)
			add_fault(c, where, "needs one of exact, prefix, present");
	}
}

static void check_methods(struct rule_check *c, const char **methods)
{
	for (size_t i = 0; methods && methods[i]; i++)
		if (!is_token(methods[i]) || strcmp(methods[i], "CONNECT") == 0 ||
		    strcmp(methods[i], "TRACE") == 0)
			add_fault(c, "/match/methods",
			          "has a word that is no method, or CONNECT or TRACE, which are "
			          "always refused");
}

static void check_template(struct rule_check *c, const char *where, const char *text,
                           bool is_needed)
{
	if (!text || !text[0]) {
		if (is_needed)
			add_fault(c, where, "is missing");
		return;
	}
	if (credential_references(text, NULL, 0) < 0)
		add_fault(c, where,
		          "is malformed: a reference is ${credential.NAME.FIELD}, closed and not "
		          "nested");
	else if (!is_printable(text))
		add_fault(c, where, "has bytes other than printable ASCII");
}

bool credential_header_is_repeated(const char *name)
{
	static const char *const names[] = {"user-agent", "referer",      "origin",     "from",
	                                    "forwarded",  "x-request-id", "traceparent"};
	static const char *const begins[] = {"accept", "if-", "sec-", "x-forwarded-"};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (span_is_word(span_of(name), names[i]))
			return true;
	for (size_t i = 0; i < COUNT_OF(begins); i++)
		if (span_starts_with_word(span_of(name), begins[i]))
			return true;
	return false;
}

static bool place_is_sound(const char *place)
{
	const char *name = strchr(place, ':');

	if (!name)
		return strcmp(place, "path") == 0;
	name++;
	if (strncmp(place, "query:", 6) == 0)
		return name[0] != '\0';
	if (strncmp(place, "header:", 7) != 0 || !is_token(name) || is_own_header(name))
		return false;
	return !credential_header_is_repeated(name);
}

static void check_places(struct rule_check *c, const char *where, const struct credential_inject *n)
{
	if (!n->marker || strlen(n->marker) < MARKER_MIN || !is_printable(n->marker) ||
	    strchr(n->marker, ' '))
		add_fault(c, where, "needs a marker of at least 8 printable characters");
	if (!n->in || !n->in[0])
		add_fault(c, where, "needs in: where the marker is replaced");
	for (size_t i = 0; n->in && n->in[i]; i++)
		if (!place_is_sound(n->in[i]))
			add_fault(c, where,
			          "in has a place that is not header:NAME, query:NAME or path, or "
			          "a header that servers repeat");
}

static void check_inject(struct rule_check *c, size_t number, const struct credential_inject *n)
{
	char where[64];

	(void)snprintf(where, sizeof(where), "/inject/%zu", number);
	switch ((enum credential_inject_kind)n->kind) {
	case INJECT_HEADER:
		if (!is_token(n->name) || is_own_header(n->name))
			add_fault(c, where, "name is no header that a rule may set");
		check_template(c, where, n->value, true);
		break;
	case INJECT_COOKIE:
		if (!is_token(n->name))
			add_fault(c, where, "name is no name of a cookie");
		check_template(c, where, n->value, true);
		break;
	case INJECT_QUERY:
		if (!n->name || !n->name[0] || !is_printable(n->name))
			add_fault(c, where, "name is missing");
		check_template(c, where, n->value, true);
		break;
	case INJECT_BASIC:
		check_template(c, where, n->username, false);
		check_template(c, where, n->password, true);
		break;
	case INJECT_PLACEHOLDER:
		check_places(c, where, n);
		check_template(c, where, n->value, true);
		break;
	case INJECT_SIGV4:
		check_template(c, where, n->access_key_id, true);
		check_template(c, where, n->secret_access_key, true);
		check_template(c, where, n->session_token, false);
		break;
	}
	if (n->when == INJECT_IF_PLACEHOLDER && n->kind != INJECT_PLACEHOLDER &&
	    (!n->marker || strlen(n->marker) < MARKER_MIN))
		add_fault(c, where, "when placeholder needs a marker of at least 8 characters");
}

static void check_action(struct rule_check *c, const struct credential_rule *rule)
{
	const struct credential_inject *items = rule->inject.items;

	if (rule->action == CREDENTIAL_INJECT && rule->inject.count == 0)
		add_fault(c, "/inject", "is missing: the action is inject");
	if (rule->action != CREDENTIAL_INJECT && rule->inject.count > 0)
		add_fault(c, "/inject", "is only for the action inject");
	for (size_t i = 0; i < rule->inject.count; i++)
		check_inject(c, i, &items[i]);
	for (size_t i = 0; rule->remove && rule->remove[i]; i++)
		if (!is_token(rule->remove[i]) || is_own_header(rule->remove[i]))
			add_fault(c, "/remove",
			          "has a name that is no header that a rule may remove");
	if (rule->limits.burst > 0 && rule->limits.requests_per_second == 0)
		add_fault(c, "/limits/burst", "needs requests_per_second");
}

static void check_id(struct rule_check *c, const struct credential_rules *rules,
                     struct credential_rule *rule)
{
	if (!rule->id || !rule->id[0])
		rule->id = arena_format(c->arena, "r%zu", c->rule + 1);
	if (!is_id(rule->id))
		add_fault(c, "/id",
		          "is not 1 to 63 of a-z, 0-9 and '-', with a letter and with no '-' at "
		          "its ends");
	for (size_t i = 0; i < c->rule; i++)
		if (strcmp(credential_rule_at(rules, i)->id, rule->id) == 0)
			add_fault(c, "/id", "is the id of an earlier rule, too");
}

int credential_rules_check(struct arena *a, struct credential_rules *rules,
                           struct credential_faults *ret_faults, struct error *err)
{
	struct rule_check c = {.arena = a};

	if (rules->rules.count > CREDENTIAL_RULES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "more than %d rules of credentials",
		            CREDENTIAL_RULES_MAX);
	for (; c.rule < rules->rules.count; c.rule++) {
		struct credential_rule *rule =
		        (struct credential_rule *)rules->rules.items + c.rule;

		check_id(&c, rules, rule);
		check_host(&c, rule);
		check_scheme(&c, rule);
		check_methods(&c, rule->match.methods);
		check_path(&c, &rule->match.path);
		check_fields(&c, "query", &rule->match.query);
		check_fields(&c, "headers", &rule->match.headers);
		check_action(&c, rule);
	}
	if (ret_faults)
		*ret_faults = c.faults;
	if (c.found == 0)
		return 0;
	return FAIL(err, ERROR_INVALID, "%s: %s%s", c.faults.items[0].pointer,
	            c.faults.items[0].text, c.found > 1 ? ", and other faults" : "");
}
