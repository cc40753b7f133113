/* SPDX-License-Identifier: Apache-2.0 */
/* Network rules of a sandbox between JSON and their stored text. */
#include "surface/native/egress.h"

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
        JSON_CHOICE_MEMBER(native_egress, mode, .flags = JSON_OMIT_EMPTY, .choices = egress_modes,
                           .about = "what happens to refused connections: enforce (default), ask "
                                    "(refused, and a person is asked by an access request), or "
                                    "watch (let through and recorded)"),
};
JSON_SHAPE(native_egress_shape, "SandboxEgress", native_egress,
           "Network destinations that a sandbox may reach");

struct native_egress native_egress_parse(struct arena *a, const char *text)
{
	struct sandbox_egress lists = {0};
	struct error ignored = {0};

	/* The text was checked before it was stored. */
	if (sandbox_egress_parse(a, text, &lists, &ignored) < 0)
		return (struct native_egress){.mode = -1};
	return (struct native_egress){
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
