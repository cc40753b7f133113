/* SPDX-License-Identifier: Apache-2.0 */
/* Network rules of a sandbox between JSON and their stored text. */
#include "surface/native/egress.h"

#include <string.h>

#include "connect/preset.h"
#include "credential/rule.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/sandbox/egress.h"
#include "fleet/sandbox/settings.h"
#include "http/server/http.h"
#include "grant/grant.h"
#include "sandbox/credential.h"
#include "sandbox/egress.h"
#include "store/credentials.h"
#include "store/sandbox_record.h"

static const struct json_member native_egress_shape_members[] = {
        JSON_TEXT_LIST_MEMBER(
                native_egress, allow, .max = SANDBOX_EGRESS_ALLOW_MAX,
                .about = "addresses, ranges and host names that the sandbox may reach even if they "
                         "are denied; a host name works for TLS on port 443 and HTTP on port 80, "
                         "and requires that everything else is denied",
                .example = "[\"203.0.113.0/24\",\"*.example.com\"]"),
        JSON_TEXT_LIST_MEMBER(native_egress, deny, .max = SANDBOX_EGRESS_MAX,
                              .about = "addresses and ranges that the sandbox may not reach; "
                                       "\"0.0.0.0/0\" denies all",
                              .example = "[\"0.0.0.0/0\"]"),
        JSON_TEXT_LIST_MEMBER(native_egress, presets, .max = 16, .flags = JSON_OMIT_EMPTY,
                              .about =
                                      "only in requests: allow the hosts of these presets and deny "
                                      "all else; see /api/sandbox/egress/presets",
                              .example = "[\"package-registries\"]"),
        JSON_TEXT_LIST_MEMBER(native_egress, credentials, .max = CREDENTIALS_MAX,
                              .flags = JSON_OMIT_EMPTY,
                              .about = "only in requests: credentials that have a preset; their "
                                       "hosts are allowed, all else is denied, and the rules of "
                                       "their presets follow those of rules",
                              .example = "[\"github\"]"),
        JSON_LIST_MEMBER(native_egress, rules, &credential_rule_shape, .max = CREDENTIAL_RULES_MAX,
                         .flags = JSON_OMIT_EMPTY,
                         .about = "which requests get credentials outside of the sandbox; their "
                                  "hosts have to be allowed by name"),
        JSON_CHOICE_MEMBER(native_egress, mode, .flags = JSON_OMIT_EMPTY, .choices = egress_modes,
                           .about = "what happens to refused connections: enforce (default), ask "
                                    "(refused, and a person is asked by an access request), or "
                                    "watch (let through and recorded)"),
};
JSON_SHAPE(native_egress_shape, "SandboxEgress", native_egress,
           "Network destinations that a sandbox may reach");

struct native_egress native_egress_parse(struct arena *a, const char *text, const char *rules)
{
	struct credential_rules parsed = {.rules = {.count = 0}};
	struct sandbox_egress lists = {0};
	struct error ignored = {0};

	/* The text was checked before it was stored. */
	if (sandbox_egress_parse(a, text, &lists, &ignored) < 0)
		return (struct native_egress){.mode = -1};
	if (*rules && credential_rules_parse(a, span_of(rules), &parsed, NULL, &ignored) < 0)
		return (struct native_egress){.mode = -1};
	return (struct native_egress){
	        .rules = parsed.rules,
	        .allow = (const char **)(uintptr_t)lists.allow,
	        .deny = (const char **)(uintptr_t)lists.deny,
	        .mode = lists.mode == EGRESS_ENFORCE ? -1 : (int)lists.mode,
	};
}

int native_egress_format(struct arena *a, const struct native_egress *body, const char **ret,
                         struct error *err)
{
	static const char *const everything[] = {SANDBOX_EGRESS_ALL, NULL};
	bool has_presets = body->presets && body->presets[0];
	struct sandbox_egress lists = {
	        .allow = body->allow,
	        .deny = body->deny,
	        .allow_name = "egress.allow",
	        .deny_name = "egress.deny",
	        .mode = body->mode > 0 ? (enum egress_mode)body->mode : EGRESS_ENFORCE,
	};
	const char **allow;

	if (!has_presets)
		return sandbox_egress_format(a, &lists, ret, err);
	if (egress_presets_add(a, (const char *const *)body->presets, lists.allow, &allow, err) < 0)
		return FAIL_CONTEXT(err, "egress.presets");
	lists.allow = allow;
	if (!lists.deny || !lists.deny[0])
		lists.deny = everything;
	return sandbox_egress_format(a, &lists, ret, err);
}

static bool list_has(const char *const *list, const char *text)
{
	for (size_t i = 0; list && list[i]; i++)
		if (strcmp(list[i], text) == 0)
			return true;
	return false;
}

static const char **join_lists(struct arena *a, const char *const *one, const char *const *two)
{
	size_t count = 0, size = 1;
	const char **all;

	for (size_t i = 0; one && one[i]; i++)
		size++;
	for (size_t i = 0; two[i]; i++)
		size++;
	all = ARENA_ARRAY(a, const char *, size);
	for (size_t i = 0; one && one[i]; i++)
		all[count++] = one[i];
	for (size_t i = 0; two[i]; i++)
		if (!list_has(one, two[i]))
			all[count++] = two[i];
	all[count] = NULL;
	return all;
}

static void join_rules(struct arena *a, struct json_list *rules, const struct json_list *more)
{
	size_t size = sizeof(struct credential_rule);
	char *all = arena_alloc(a, (rules->count + more->count) * size + 1);

	if (rules->count > 0)
		memcpy(all, rules->items, rules->count * size);
	memcpy(all + rules->count * size, more->items, more->count * size);
	*rules = (struct json_list){all, rules->count + more->count, true};
}

static void join_markers(struct arena *a, struct json_map *all, const struct json_list *more)
{
	const struct preset_marker *items = more->items;
	struct json_pair *pairs = ARENA_ARRAY(a, struct json_pair, all->count + more->count + 1);

	for (size_t i = 0; i < all->count; i++)
		pairs[i] = all->pairs[i];
	for (size_t i = 0; i < more->count; i++)
		pairs[all->count + i] = (struct json_pair){items[i].env, items[i].value};
	*all = (struct json_map){pairs, all->count + more->count, true};
}

static int add_credential(struct request *rq, const struct credential_ref *ref,
                          struct native_egress *egress, struct json_map *markers, struct error *err)
{
	struct connect_preset preset;
	struct credential_record r;
	struct preset_use use;

	if (store_credential_find(api_of(rq)->store, rq->arena, ref, &r, err) < 0)
		return -1;
	if (!r.preset[0]) {
		(void)FAIL(err, ERROR_INVALID, "the credential '%s' has no preset", r.name);
		return FAIL_HINT(err, "give egress.rules that name it");
	}
	use = (struct preset_use){r.preset, r.name, r.hosts};
	if (connect_preset_rules(rq->arena, &use, &preset, err) < 0)
		return -1;
	egress->allow = join_lists(rq->arena, egress->allow,
	                           (const char *const *)credential_hosts_split(rq->arena, r.hosts));
	join_rules(rq->arena, &egress->rules, &preset.rules);
	join_markers(rq->arena, markers, &preset.markers);
	return 0;
}

/* What the credentials of a request stand for: rules, allowed hosts, and variables that let
 * programs start. */
static int add_credentials(struct request *rq, struct native_egress *egress,
                           struct json_map *ret_markers, struct error *err)
{
	static const char *everything[] = {SANDBOX_EGRESS_ALL, NULL};
	struct credential_ref ref = {api_project(rq), api_user_id(rq), NULL};

	*ret_markers = (struct json_map){NULL, 0, true};
	for (size_t i = 0; egress->credentials && egress->credentials[i]; i++) {
		ref.name = egress->credentials[i];
		if (add_credential(rq, &ref, egress, ret_markers, err) < 0)
			return FAIL_CONTEXT(err, "egress.credentials[%zu]", i);
		if (!egress->deny || !egress->deny[0])
			egress->deny = everything;
	}
	return 0;
}

static bool map_has(const struct json_map *map, const char *key)
{
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->pairs[i].key, key) == 0)
			return true;
	return false;
}

/* A variable that is there stays. */
static void add_absent(struct arena *a, struct json_map *env, const struct json_map *markers)
{
	struct json_map all = {ARENA_ARRAY(a, struct json_pair, env->count + markers->count + 1), 0,
	                       true};

	for (; all.count < env->count; all.count++)
		all.pairs[all.count] = env->pairs[all.count];
	for (size_t i = 0; i < markers->count; i++)
		if (!map_has(&all, markers->pairs[i].key))
			all.pairs[all.count++] = markers->pairs[i];
	*env = all;
}

static int set_markers(struct request *rq, const struct fleet_ref *ref,
                       const struct json_map *markers, struct sandbox_record *r, struct error *err)
{
	struct json_map absent = {NULL, 0, true};
	const struct fleet_environment change = {.set = &absent};
	const struct json_value *env;

	if (markers->count == 0)
		return 0;
	if (json_load(rq->arena, span_of(r->env_json), &env, err) < 0)
		return -1;
	absent.pairs = ARENA_ARRAY(rq->arena, struct json_pair, markers->count);
	for (size_t i = 0; i < markers->count; i++)
		if (!json_get(env, markers->pairs[i].key) &&
		    !map_has(&absent, markers->pairs[i].key))
			absent.pairs[absent.count++] = markers->pairs[i];
	return fleet_set_environment(api_of(rq)->fleet, rq->arena, ref, &change, r, err);
}

const char *native_egress_cut(struct arena *a, const char *cut)
{
	AUTO(buf_done) struct buf text = BUF(512);

	if (!cut || !*cut)
		return NULL;
	egress_cut_describe(&text, span_of(cut));
	return arena_copy(a, buf_span(&text));
}

int native_egress_set(struct request *rq, const struct fleet_ref *ref,
                      const struct native_egress *body, struct sandbox_record *ret,
                      struct error *err)
{
	struct native_egress wanted = *body;
	struct credential_rules rules;
	struct grant_change change = {api_user_id(rq), NULL, &rules};
	struct api *api = api_of(rq);
	struct json_map markers;

	if (add_credentials(rq, &wanted, &markers, err) < 0 ||
	    native_egress_format(rq->arena, &wanted, &change.egress, err) < 0)
		return -1;
	rules = (struct credential_rules){wanted.rules};
	if (!api->grants && rules.rules.count == 0)
		return fleet_set_egress(api->fleet, rq->arena, ref, change.egress, ret, err);
	if (grant_set(api->grants, rq->arena, ref, &change, ret, err) < 0)
		return -1;
	return set_markers(rq, ref, &markers, ret, err);
}

int native_egress_prepare(struct request *rq, const struct native_egress *body,
                          struct fleet_create *ret, struct error *err)
{
	struct native_egress wanted = *body;
	struct credential_rules rules;
	struct grant_wish wish = {
	        .project_id = ret->project_id, .owner_id = ret->user_id, .rules = &rules};
	struct json_map markers;
	const char *text;

	if (add_credentials(rq, &wanted, &markers, err) < 0 ||
	    native_egress_format(rq->arena, &wanted, &ret->egress, err) < 0)
		return -1;
	rules = (struct credential_rules){wanted.rules};
	if (markers.count > 0)
		add_absent(rq->arena, &ret->env, &markers);
	if (rules.rules.count == 0)
		return 0;
	wish.egress = ret->egress;
	if (grant_check(api_of(rq)->grants, rq->arena, &wish, &text, &ret->egress, err) < 0)
		return FAIL_CONTEXT(err, "egress.rules");
	grant_prepare_create(rq->arena, text, ret);
	return 0;
}
