/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/daytona/attached.h"

#include <string.h>

#include "credential/rule.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/sandbox/egress.h"
#include "fleet/sandbox/settings.h"
#include "grant/grant.h"
#include "sandbox/egress.h"
#include "store/sandbox_record.h"
#include "store/vault.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"

#define SANDBOX DAYTONA_API "/sandbox/:id"
#define ATTACHED_MAX CREDENTIALS_MAX
#define SOURCE "daytona"
#define WILDCARD "*."

static const char *const everything[] = {SANDBOX_EGRESS_ALL, NULL};
/* Bodies are not searched: programs often send what a server repeats. */
static const char *const places[] = {"header:*", "query:*", NULL};

/* Secrets, and the variables that get their placeholders. */
struct attached {
	struct arena *arena;
	struct json_map variables;
	const char *names[ATTACHED_MAX];
	const char **hosts[ATTACHED_MAX];
	const char *egress; /* network rules; "" = everything */
	/* Made of them. */
	struct credential_rule *rules;
	size_t count;
};

static bool has_items(struct span raw)
{
	return raw.size > 0 && !span_equals_text(raw, "null") && !span_equals_text(raw, "[]");
}

static void add_record(struct attached *at, const char *variable, const struct vault_record *r)
{
	size_t number = at->variables.count++;

	at->names[number] = r->name;
	at->hosts[number] = daytona_secret_hosts(at->arena, r);
	at->variables.pairs[number] =
	        (struct json_pair){variable, daytona_placeholder(at->arena, r)};
}

static int add_secret(struct request *rq, struct attached *at, const struct json_value *pair,
                      struct error *err)
{
	const char *variable, *name = json_text(json_member_at(pair, 0, &variable), NULL);
	size_t number = at->variables.count;
	struct vault_record r;

	if (json_count(pair) != 1 || !name || !variable[0])
		return FAIL(err, ERROR_INVALID,
		            "secrets[%zu] is not one variable and the name of a secret", number);
	if (number == ATTACHED_MAX)
		return FAIL(err, ERROR_LIMIT, "secrets: at most %d for a sandbox", ATTACHED_MAX);
	if (store_vault_find(api_of(rq)->store, rq->arena, api_project(rq), name, &r, err) < 0)
		return -1;
	add_record(at, variable, &r);
	return 0;
}

static struct attached attached_new(struct arena *a)
{
	return (struct attached){
	        .arena = a, .variables = {ARENA_ARRAY(a, struct json_pair, ATTACHED_MAX), 0, true}};
}

static int read_secrets(struct request *rq, struct span raw, struct attached *ret,
                        struct error *err)
{
	const struct json_value *list;

	*ret = attached_new(rq->arena);
	if (!has_items(raw))
		return 0;
	if (json_load(rq->arena, raw, &list, err) < 0)
		return FAIL_CONTEXT(err, "secrets");
	for (size_t i = 0; i < json_count(list); i++)
		if (add_secret(rq, ret, json_item_at(list, i), err) < 0)
			return -1;
	return 0;
}

/* Where everything is allowed, connections are led through the gateway. */
static bool is_reachable(const struct attached *at, const char *host)
{
	struct sandbox_egress lists;
	struct error ignored = {0};

	if (!*at->egress)
		return true;
	if (sandbox_egress_parse(at->arena, at->egress, &lists, &ignored) < 0)
		return false;
	for (size_t i = 0; lists.allow && lists.allow[i]; i++)
		if (egress_name_is_valid(span_of(lists.allow[i])) &&
		    credential_host_covers(lists.allow[i], host))
			return true;
	return false;
}

static bool secret_has_host(const struct attached *at, size_t number, const char *host)
{
	for (size_t i = 0; at->hosts[number][i]; i++)
		if (credential_host_covers(at->hosts[number][i], host))
			return true;
	return false;
}

static void fill_rule(const struct attached *at, const char *host, struct credential_rule *ret)
{
	struct credential_inject *items =
	        ARENA_ARRAY(at->arena, struct credential_inject, at->variables.count);
	size_t count = 0;

	for (size_t i = 0; i < at->variables.count; i++)
		if (secret_has_host(at, i, host))
			items[count++] = (struct credential_inject){
			        .kind = INJECT_PLACEHOLDER,
			        .when = INJECT_ALWAYS,
			        .marker = at->variables.pairs[i].value,
			        .value = arena_format(at->arena,
			                              "${credential." GRANT_SECRET "%s.%s}",
			                              at->names[i], GRANT_SECRET_FIELD),
			        .in = (const char **)(uintptr_t)places};
	*ret = (struct credential_rule){
	        .id = arena_format(at->arena, SOURCE "-%zu", at->count + 1),
	        .host = host,
	        .action = CREDENTIAL_INJECT,
	        .inject = {items, count, true},
	        .websocket = true,
	        .source = SOURCE,
	};
}

static int add_rule(struct attached *at, const char *host, struct error *err)
{
	if (!is_reachable(at, host))
		return 0;
	for (size_t i = 0; i < at->count; i++)
		if (strcmp(at->rules[i].host, host) == 0)
			return 0;
	if (at->count == CREDENTIAL_RULES_MAX)
		return FAIL(err, ERROR_LIMIT, "secrets: they have more than %d hosts",
		            CREDENTIAL_RULES_MAX);
	fill_rule(at, host, &at->rules[at->count]);
	at->count++;
	return 0;
}

/* One rule for each host, names before wildcards: the first that holds decides. */
static int make_rules(struct attached *at, struct error *err)
{
	at->rules = ARENA_ARRAY(at->arena, struct credential_rule, CREDENTIAL_RULES_MAX);
	for (unsigned wild = 0; wild < 2; wild++)
		for (size_t i = 0; i < at->variables.count; i++)
			for (size_t j = 0; at->hosts[i][j]; j++) {
				const char *host = at->hosts[i][j];
				bool is_wild = strncmp(host, WILDCARD, strlen(WILDCARD)) == 0;

				if (is_wild == (wild == 1) && add_rule(at, host, err) < 0)
					return -1;
			}
	return 0;
}

/* The network rules that lead the hosts through the gateway. */
static int lead_hosts(const struct attached *at, const char **ret, struct error *err)
{
	const char **hosts = ARENA_ARRAY(at->arena, const char *, at->count + 1);
	const struct sandbox_egress lists = {
	        .allow = hosts, .deny = everything, .mode = EGRESS_WATCH};

	*ret = at->egress;
	if (*at->egress || at->count == 0)
		return 0;
	for (size_t i = 0; i < at->count; i++)
		hosts[i] = at->rules[i].host;
	hosts[at->count] = NULL;
	return sandbox_egress_format(at->arena, &lists, ret, err);
}

static void add_variables(struct attached *at, struct json_map *env)
{
	struct json_map all = {
	        ARENA_ARRAY(at->arena, struct json_pair, env->count + at->variables.count + 1), 0,
	        true};

	for (size_t i = 0; i < env->count; i++) {
		bool is_replaced = false;

		for (size_t j = 0; j < at->variables.count; j++)
			is_replaced = is_replaced ||
			              strcmp(at->variables.pairs[j].key, env->pairs[i].key) == 0;
		if (!is_replaced)
			all.pairs[all.count++] = env->pairs[i];
	}
	for (size_t i = 0; i < at->variables.count; i++)
		all.pairs[all.count++] = at->variables.pairs[i];
	*env = all;
}

int daytona_secrets_prepare(struct request *rq, struct span secrets, struct fleet_create *ret,
                            struct error *err)
{
	struct credential_rules rules;
	struct grant_wish wish = {
	        .project_id = ret->project_id, .owner_id = ret->user_id, .rules = &rules};
	struct attached at;
	const char *text;

	if (read_secrets(rq, secrets, &at, err) < 0)
		return -1;
	if (at.variables.count == 0)
		return 0;
	add_variables(&at, &ret->env);
	at.egress = ret->egress ? ret->egress : "";
	if (ret->internet == 0)
		return 0;
	if (make_rules(&at, err) < 0)
		return -1;
	if (at.count == 0)
		return 0;
	if (lead_hosts(&at, &wish.egress, err) < 0)
		return -1;
	rules = (struct credential_rules){{at.rules, at.count, true}};
	ret->internet = 1;
	if (grant_check(api_of(rq)->grants, rq->arena, &wish, &text, &ret->egress, err) < 0)
		return FAIL_CONTEXT(err, "secrets");
	grant_prepare_create(rq->arena, text, ret);
	return 0;
}

struct attach_body {
	struct span secrets;
};
static const struct json_member attach_request_members[] = {
        JSON_RAW_MEMBER(attach_body, secrets, .flags = JSON_REQUIRED),
};
static JSON_OPEN_SHAPE(attach_request, "DaytonaAttachSecrets", attach_body,
                       "The secrets of a sandbox");

static bool is_placeholder(const char *value)
{
	return strncmp(value, DAYTONA_PLACEHOLDER, strlen(DAYTONA_PLACEHOLDER)) == 0;
}

/* The secrets that a sandbox has: its variables tell. One that was deleted is left out. */
static int read_attached(struct request *rq, const struct sandbox_record *r, struct attached *ret,
                         struct error *err)
{
	const struct json_value *env;
	struct vault_record secret;

	*ret = attached_new(rq->arena);
	if (json_load(rq->arena, span_of(r->env_json), &env, err) < 0)
		return -1;
	for (size_t i = 0; i < json_count(env) && ret->variables.count < ATTACHED_MAX; i++) {
		const char *key, *value = json_text(json_member_at(env, i, &key), "");

		if (!is_placeholder(value))
			continue;
		if (store_vault_find(api_of(rq)->store, rq->arena, r->project_id,
		                     value + strlen(DAYTONA_PLACEHOLDER), &secret, err) == 0)
			add_record(ret, key, &secret);
		else if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
	}
	return 0;
}

/* Network rules as they are without secrets. */
static int plain_egress(struct arena *a, const struct sandbox_record *r, const char **ret,
                        struct error *err)
{
	if (sandbox_egress_mode(r->egress) == EGRESS_WATCH) {
		*ret = "";
		return 0;
	}
	return sandbox_egress_mark(a, r->egress, NULL, ret, err);
}

static int replace_rules(struct request *rq, const struct fleet_ref *ref, struct attached *at,
                         struct sandbox_record *r, struct error *err)
{
	struct credential_rules rules;
	struct grant_change change = {api_user_id(rq), NULL, &rules, SOURCE};
	struct api *api = api_of(rq);

	if (make_rules(at, err) < 0 || lead_hosts(at, &change.egress, err) < 0)
		return -1;
	rules = (struct credential_rules){{at->rules, at->count, true}};
	if (at->count == 0 && !*r->rules_json)
		return fleet_set_egress(api->fleet, rq->arena, ref, change.egress, r, err);
	return grant_set(api->grants, rq->arena, ref, &change, r, err);
}

int daytona_egress_set(struct request *rq, const struct fleet_ref *ref, const char *egress,
                       struct sandbox_record *r, struct error *err)
{
	struct attached at;

	if (read_attached(rq, r, &at, err) < 0)
		return -1;
	at.egress = egress;
	return replace_rules(rq, ref, &at, r, err);
}

/* Variables of secrets that may be attached no more. */
static int list_detached(struct arena *a, const struct sandbox_record *r, const char ***ret,
                         struct error *err)
{
	const struct json_value *env;
	size_t count = 0;
	const char *key;

	if (json_load(a, span_of(r->env_json), &env, err) < 0)
		return -1;
	*ret = ARENA_ARRAY(a, const char *, json_count(env) + 1);
	for (size_t i = 0; i < json_count(env); i++)
		if (is_placeholder(json_text(json_member_at(env, i, &key), "")))
			(*ret)[count++] = key;
	(*ret)[count] = NULL;
	return 0;
}

/* Replaces the secrets of a sandbox. New variables are those of new processes. */
static int set_secrets(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct attach_body *b = body;
	struct api *api = api_of(rq);
	const struct fleet_ref ref = api_path_ref(rq);
	const char **detached;
	struct sandbox_record r;
	struct attached at;
	struct fleet_environment change = {.set = &at.variables};

	if (fleet_find(api->fleet, rq->arena, &ref, &r, err) < 0 ||
	    read_secrets(rq, b->secrets, &at, err) < 0 ||
	    list_detached(rq->arena, &r, &detached, err) < 0)
		return -1;
	change.unset = (const char *const *)detached;
	if (fleet_set_environment(api->fleet, rq->arena, &ref, &change, &r, err) < 0)
		return -1;
	if (r.network != SANDBOX_NETWORK_BLOCKED &&
	    (plain_egress(rq->arena, &r, &at.egress, err) < 0 ||
	     replace_rules(rq, &ref, &at, &r, err) < 0))
		return -1;
	return daytona_sandbox_reply(rq, reply, &r, err);
}

const struct route daytona_attached_routes[] = {
        {HTTP_PUT, SANDBOX "/secrets", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_HIDDEN,
         .body = &attach_request, .handle = set_secrets, .tag = "daytona",
         .summary = "Replace the secrets of a sandbox"},
        {.path = NULL},
};
