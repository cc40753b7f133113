/* SPDX-License-Identifier: Apache-2.0 */
#include "account/account.h"

#include <string.h>

#define VIEWER SCOPE_SANDBOX_READ
#define MEMBER (VIEWER | SCOPE_SANDBOX_WRITE | SCOPE_TEMPLATE_WRITE)

static const struct {
	const char *name;
	unsigned scopes;
} roles[ROLE_COUNT] = {
        [ROLE_NONE] = {"", SCOPE_NONE},
        [ROLE_VIEWER] = {"viewer", VIEWER},
        [ROLE_MEMBER] = {"member", MEMBER},
        [ROLE_ADMIN] = {"admin", MEMBER | SCOPE_KEY_WRITE | SCOPE_PROJECT_WRITE},
};

const char *account_role_name(enum account_role role)
{
	return roles[role].name;
}

static enum account_role role_find(const char *name)
{
	for (unsigned i = ROLE_NONE + 1; i < ROLE_COUNT; i++)
		if (strcmp(roles[i].name, name) == 0)
			return (enum account_role)i;
	return ROLE_NONE;
}

int account_role_parse(const char *name, enum account_role *ret, struct error *err)
{
	enum account_role role = role_find(name);

	if (role == ROLE_NONE) {
		error_set(err, ERROR_INVALID, 0, HERE, "unknown role '%.40s'", name);
		return FAIL_HINT(err, "viewer, member or admin");
	}
	*ret = role;
	return 0;
}

unsigned account_role_scopes(enum account_role role)
{
	return roles[role].scopes;
}

unsigned account_key_scopes(unsigned given, const char *user_id, const char *role)
{
	if (user_id[0] == '\0')
		return given;
	return given & account_role_scopes(role_find(role));
}

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

int account_user_check(const char *user_id, struct error *err)
{
	size_t size = strnlen(user_id, ACCOUNT_USER_MAX + 1);

	if (size == 0 || size > ACCOUNT_USER_MAX)
		return FAIL(err, ERROR_INVALID, "a user must have 1 to %d characters",
		            ACCOUNT_USER_MAX);
	for (size_t i = 0; i < size; i++) {
		if (is_alphanumeric(user_id[i]) || (i > 0 && strchr("._@+-", user_id[i])))
			continue;
		error_set(err, ERROR_INVALID, 0, HERE, "user '%s' is not valid", user_id);
		return FAIL_HINT(err, "an id or e-mail address: letters, digits and . _ @ + -");
	}
	return 0;
}
