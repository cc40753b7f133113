/* SPDX-License-Identifier: Apache-2.0 */
#include "account/account.h"

#include <string.h>

static const struct {
	enum account_scope scope;
	const char *name;
} scopes[] = {
        {SCOPE_SANDBOX_READ, "sandbox:read"},     {SCOPE_SANDBOX_WRITE, "sandbox:write"},
        {SCOPE_TEMPLATE_WRITE, "template:write"}, {SCOPE_KEY_WRITE, "key:write"},
        {SCOPE_PROJECT_WRITE, "project:write"},   {SCOPE_ADMIN, "admin"},
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
			return FAIL_HINT(err,
			                 "sandbox:read, sandbox:write, template:write, key:write, "
			                 "project:write or admin");
		}
		found |= scope;
	}
	*ret = found;
	return 0;
}

/* The lowest missing scope: the error names one that has a name. */
static const char *first_name(unsigned missing)
{
	return account_scope_name((enum account_scope)(missing & -missing));
}

int account_require(const struct account_caller *caller, unsigned scope, struct error *err)
{
	unsigned missing = scope & ~caller->scopes;

	if (missing == 0 || caller->scopes & SCOPE_ADMIN)
		return 0;
	return FAIL(err, ERROR_FORBIDDEN, "this %s lacks the scope '%s'",
	            caller->is_login ? "session" : "key", first_name(missing));
}

int account_scopes_grant(const struct account_grant *grant, unsigned *ret, struct error *err)
{
	unsigned own = grant->own & SCOPE_ADMIN ? SCOPE_ALL : grant->own;
	unsigned most = grant->has_member ? account_role_scopes(grant->role) : SCOPE_ALL;
	unsigned granted = own & most & ~(unsigned)SCOPE_ADMIN;

	if (grant->names && account_scopes_parse(grant->names, &granted, err) < 0)
		return -1;
	if (granted & ~own)
		return FAIL(err, ERROR_FORBIDDEN, "a key cannot grant more than the caller may");
	if (granted & ~most)
		return FAIL(err, ERROR_FORBIDDEN, "a key of role '%s' cannot have the scope '%s'",
		            account_role_name(grant->role), first_name(granted & ~most));
	if (granted == SCOPE_NONE)
		return FAIL(err, ERROR_INVALID, "a key needs a scope");
	*ret = granted;
	return 0;
}
