/* SPDX-License-Identifier: Apache-2.0 */
/* From rules, credentials and consents to what the proxy may do at this moment. */
#include <string.h>

#include "base/clock.h"
#include "credential/authority.h"
#include "credential/rule.h"
#include "grant/state.h"
#include "sandbox/credential.h"
#include "store/consents.h"
#include "store/credentials.h"
#include "store/sandbox_record.h"
#include "store/secrets.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)
#define RENEW_AUTHORITY_MS (7 * DAY_MS)
#define WHY_MAX 200

static bool is_consented(const struct consent_list *consents, const struct credential_record *r)
{
	for (size_t i = 0; i < consents->count; i++)
		if (strcmp(consents->items[i].credential_id, r->id) == 0 &&
		    consents->items[i].credential_version == r->version &&
		    strcmp(consents->items[i].hosts, r->hosts) == 0)
			return true;
	return false;
}

/* NULL: it can be used. */
static const char *find_problem(struct arena *a, const struct consent_list *consents,
                                const struct credential_record *r)
{
	if (r->needs_login)
		return arena_format(a, "credential '%s' needs a new login", r->name);
	if (r->expires_at && r->expires_at <= clock_unix_ms())
		return arena_format(a, "credential '%s' has expired", r->name);
	if (r->consent != CREDENTIAL_CONSENT_PROJECT && !is_consented(consents, r))
		return arena_format(a,
		                    "credential '%s' needs a person's consent: call "
		                    "activate_credential",
		                    r->name);
	return NULL;
}

int grant_is_usable(struct grants *g, struct arena *a, const char *sandbox_id,
                    const struct credential_record *credential, const char **ret_why,
                    struct error *err)
{
	struct consent_list consents;

	if (store_consent_active(g->options.store, a, sandbox_id, clock_unix_ms(), &consents, err) <
	    0)
		return -1;
	*ret_why = find_problem(a, &consents, credential);
	return 0;
}

/* One resolution. */
struct resolution {
	struct grants *g;
	struct arena *arena;
	const struct sandbox_record *sandbox;
	struct consent_list consents;
	struct credential_values values[CREDENTIALS_MAX];
	size_t count;
	const struct credential_rule *rule; /* the present one */
	const char *problem;                /* of its credentials; NULL: none */
};

static bool has_values(const struct resolution *at, struct span name)
{
	for (size_t i = 0; i < at->count; i++)
		if (span_equals_text(name, at->values[i].name))
			return true;
	return false;
}

static int load_fields(struct arena *a, const struct credential_record *r, struct json_map *ret,
                       struct error *err)
{
	const struct json_value *object;

	if (store_secret_check(r->fields_json, err) < 0 ||
	    json_load(a, span_of(r->fields_json), &object, err) < 0)
		return FAIL_CONTEXT(err, "credential '%s'", r->name);
	*ret = (struct json_map){ARENA_ARRAY(a, struct json_pair, json_count(object) + 1),
	                         json_count(object), true};
	for (size_t i = 0; i < ret->count; i++) {
		const struct json_value *value = json_member_at(object, i, &ret->pairs[i].key);

		ret->pairs[i].value = json_text(value, "");
	}
	return 0;
}

static bool has_field(const struct json_map *fields, struct span name)
{
	for (size_t i = 0; i < fields->count; i++)
		if (span_equals_text(name, fields->pairs[i].key))
			return true;
	return false;
}

/* A failure that is not the store's is a problem of the rule, not of the sandbox. */
static int take_credential(struct resolution *at, const struct credential_reference *reference,
                           struct error *err)
{
	const char *name = arena_copy(at->arena, reference->name);
	const struct grant_name wanted = {at->sandbox->project_id, at->sandbox->user_id, name,
	                                  at->rule->host};
	struct credential_values *values = &at->values[at->count];
	struct credential_record r;

	if (grant_find(at->g, at->arena, &wanted, &r, err) < 0) {
		at->problem = arena_format(at->arena,
		                           err->code == ERROR_INVALID
		                                   ? "credential '%s' cannot be put into requests"
		                                   : "there is no credential '%s'",
		                           name);
		return err->code == ERROR_NOT_FOUND || err->code == ERROR_INVALID ? 1 : -1;
	}
	at->problem = find_problem(at->arena, &at->consents, &r);
	if (!at->problem && !credential_hosts_cover(r.hosts, span_of(at->rule->host)))
		at->problem = arena_format(at->arena, "credential '%s' is not for the host '%s'",
		                           name, at->rule->host);
	if (at->problem || has_values(at, reference->name))
		return at->problem != NULL;
	if (at->count == CREDENTIALS_MAX || load_fields(at->arena, &r, &values->fields, err) < 0 ||
	    !has_field(&values->fields, reference->field)) {
		at->problem = arena_format(at->arena, "credential '%s' cannot be read", name);
		return 1;
	}
	values->name = name;
	values->hosts = credential_hosts_split(at->arena, r.hosts);
	values->expires_at = r.expires_at;
	at->count++;
	return 0;
}

static int on_reference(void *context, const struct credential_reference *reference)
{
	struct error err = {0};

	return take_credential(context, reference, &err);
}

/* A field, for credential_rule_references. */
struct wanted_field {
	const char *credential, *field;
};

static int is_wanted(void *context, const struct credential_reference *reference)
{
	const struct wanted_field *wanted = context;

	return span_equals_text(reference->name, wanted->credential) &&
	       span_equals_text(reference->field, wanted->field);
}

static bool rules_use(const struct credential_rules *rules, struct wanted_field *wanted)
{
	for (size_t i = 0; i < rules->rules.count; i++)
		if (credential_rule_references(credential_rule_at(rules, i), is_wanted, wanted))
			return true;
	return false;
}

/* The proxy gets what it puts in, and masks that alone: a region of AWS is a word of many answers.
 */
static void drop_other_fields(const struct credential_rules *rules,
                              struct credential_values *values)
{
	size_t kept = 0;

	for (size_t i = 0; i < values->fields.count; i++) {
		struct wanted_field wanted = {values->name, values->fields.pairs[i].key};

		if (rules_use(rules, &wanted))
			values->fields.pairs[kept++] = values->fields.pairs[i];
	}
	values->fields.count = kept;
}

/* Such a rule refuses its requests: without it they would pass without the credential. */
static void refuse_rule(struct arena *a, struct credential_rule *rule, const char *problem)
{
	rule->action = CREDENTIAL_DENY;
	rule->inject = (struct json_list){NULL, 0, false};
	rule->remove = NULL;
	rule->note = arena_format(a, "%.*s", WHY_MAX - 1, problem);
	rule->source = CREDENTIAL_SOURCE_PROBLEM;
}

static int ensure_authority(struct grants *g, struct arena *a, const char *id,
                            struct authority_record *ret, struct error *err)
{
	int64_t now = clock_unix_ms();
	bool is_found;

	if (store_authority_find(g->options.store, a, id, ret, &is_found, err) < 0)
		return -1;
	if (is_found && ret->expires_at - RENEW_AUTHORITY_MS > now)
		return store_secret_check(ret->key_pem, err);
	*ret = (struct authority_record){
	        .id = id,
	        .expires_at = now + CREDENTIAL_AUTHORITY_DAYS * DAY_MS,
	        .created_at = now,
	};
	if (credential_authority_make(a, id, &ret->certificate, &ret->key_pem, err) < 0)
		return -1;
	return store_authority_put(g->options.store, ret, err);
}

int grant_resolve(struct grants *g, struct arena *a, const struct sandbox_record *r,
                  struct credential_set *ret, struct error *err)
{
	struct resolution *at = ARENA_NEW(a, struct resolution);
	struct authority_record authority;
	struct credential_rules rules;

	*at = (struct resolution){.g = g, .arena = a, .sandbox = r};
	if (credential_rules_parse(a, span_of(r->rules_json), &rules, NULL, err) < 0 ||
	    store_consent_active(g->options.store, a, r->id, clock_unix_ms(), &at->consents, err) <
	            0 ||
	    ensure_authority(g, a, r->id, &authority, err) < 0)
		return -1;
	for (size_t i = 0; i < rules.rules.count; i++) {
		struct credential_rule *rule = (struct credential_rule *)rules.rules.items + i;

		at->rule = rule;
		at->problem = NULL;
		if (credential_rule_references(rule, on_reference, at) < 0)
			return FAIL(err, ERROR_UNAVAILABLE, "the store did not give a credential");
		if (at->problem)
			refuse_rule(a, rule, at->problem);
	}
	for (size_t i = 0; i < at->count; i++)
		drop_other_fields(&rules, &at->values[i]);
	*ret = (struct credential_set){
	        .sandbox = r->id,
	        .rules = rules.rules,
	        .credentials = {at->values, at->count, true},
	        .ca_certificate = authority.certificate,
	        .ca_key = authority.key_pem,
	};
	return 0;
}
