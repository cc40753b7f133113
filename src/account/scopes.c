/* SPDX-License-Identifier: Apache-2.0 */
#include "account/account.h"

#include <string.h>

static const struct {
	enum account_scope scope;
	const char *name;
} scopes[] = {
        {SCOPE_SANDBOX_READ, "sandbox:read"},
        {SCOPE_SANDBOX_WRITE, "sandbox:write"},
        {SCOPE_TEMPLATE_WRITE, "template:write"},
        {SCOPE_KEY_WRITE, "key:write"},
        {SCOPE_ADMIN, "admin"},
};

const char *account_scope_name(enum account_scope scope)
{
	for (size_t i = 0; i < COUNT_OF(scopes); i++)
		if (scopes[i].scope == scope)
			return scopes[i].name;
	return "none";
}

static unsigned scope_parse(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(scopes); i++)
		if (strcmp(scopes[i].name, name) == 0)
			return scopes[i].scope;
	return SCOPE_NONE;
}

int account_scopes_parse(const char *const *names, unsigned *ret, struct error *err)
{
	unsigned found = SCOPE_NONE;

	for (; names && *names; names++) {
		unsigned scope = scope_parse(*names);

		if (scope == SCOPE_NONE) {
			error_set(err, ERROR_INVALID, 0, HERE, "unknown scope '%.40s'", *names);
			error_hint(err, "sandbox:read, sandbox:write, template:write, key:write "
			                "or admin");
			return -1;
		}
		found |= scope;
	}
	*ret = found;
	return 0;
}

int account_require(const struct account_caller *caller, unsigned scope, struct error *err)
{
	unsigned missing = scope & ~caller->scopes;

	if (missing == 0 || caller->scopes & SCOPE_ADMIN)
		return 0;
	/* The lowest one that is missing: the error names something that a name stands for. */
	return FAIL(err, ERROR_FORBIDDEN, "this key lacks the scope '%s'",
	            account_scope_name((enum account_scope)(missing & -missing)));
}
