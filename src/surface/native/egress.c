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
};
JSON_SHAPE(native_egress_shape, "SandboxEgress", native_egress,
           "Network destinations that a sandbox may reach");

struct native_egress native_egress_parse(struct arena *a, const char *text)
{
	struct sandbox_egress lists = {0};
	struct error ignored = {0};

	/* The text was checked before it was stored. */
	if (sandbox_egress_parse(a, text, &lists, &ignored) < 0)
		return (struct native_egress){0};
	return (struct native_egress){(const char **)(uintptr_t)lists.allow,
	                              (const char **)(uintptr_t)lists.deny};
}

int native_egress_format(struct arena *a, const struct native_egress *body, const char **ret,
                         struct error *err)
{
	const struct sandbox_egress lists = {body->allow, body->deny, "egress.allow",
	                                     "egress.deny"};

	return sandbox_egress_format(a, &lists, ret, err);
}
