/* SPDX-License-Identifier: Apache-2.0 */
/* Network rules of a sandbox between JSON and their stored text. */
#include "surface/native/egress.h"

#include "credential/rule.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/sandbox/egress.h"
#include "http/server/http.h"
#include "grant/grant.h"
#include "sandbox/egress.h"

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

int native_egress_set(struct request *rq, const struct fleet_ref *ref,
                      const struct native_egress *body, struct sandbox_record *ret,
                      struct error *err)
{
	struct credential_rules rules = {body->rules};
	struct api *api = api_of(rq);
	const char *egress;

	if (native_egress_format(rq->arena, body, &egress, err) < 0)
		return -1;
	if (!api->grants && rules.rules.count == 0)
		return fleet_set_egress(api->fleet, rq->arena, ref, egress, ret, err);
	return grant_set(api->grants, rq->arena, ref,
	                 &(struct grant_change){api_user_id(rq), egress, &rules}, ret, err);
}

int native_egress_prepare(struct request *rq, const struct native_egress *body,
                          struct fleet_create *ret, struct error *err)
{
	struct credential_rules rules = {body->rules};
	struct grant_wish wish = {
	        .project_id = ret->project_id, .owner_id = ret->user_id, .rules = &rules};
	const char *text;

	if (native_egress_format(rq->arena, body, &ret->egress, err) < 0)
		return -1;
	if (rules.rules.count == 0)
		return 0;
	wish.egress = ret->egress;
	if (grant_check(api_of(rq)->grants, rq->arena, &wish, &text, &ret->egress, err) < 0)
		return FAIL_CONTEXT(err, "egress.rules");
	grant_prepare_create(rq->arena, text, ret);
	return 0;
}
