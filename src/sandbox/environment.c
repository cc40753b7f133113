/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/sandbox.h"

#include <string.h>

#define ENV_NAME_MAX 128
/* The kernel refuses a single environment text over 128 KiB; half of that is ample. */
#define ENV_VALUE_MAX (64 * 1024)

static bool is_word(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int sandbox_env_check(const char *name, const char *value, struct error *err)
{
	size_t size = strlen(name);

	if (size == 0 || size > ENV_NAME_MAX)
		return FAIL(err, ERROR_INVALID,
		            "name of an environment variable must have 1 to %d characters",
		            ENV_NAME_MAX);
	for (size_t i = 0; i < size; i++)
		if (!is_word(name[i]) && (i == 0 || !is_digit(name[i])))
			return FAIL(err, ERROR_INVALID,
			            "environment variable '%s': name must be letters, digits and "
			            "'_', not starting with a digit",
			            name);
	if (strnlen(value, ENV_VALUE_MAX + 1) > ENV_VALUE_MAX)
		return FAIL(err, ERROR_TOO_LARGE,
		            "environment variable '%s': value is longer than %d bytes", name,
		            ENV_VALUE_MAX);
	return 0;
}
