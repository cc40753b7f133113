/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/isolation.h"

#include <string.h>

#include "base/bytes.h"

#define REMOTE "remote"

/* In their order; "remote" is apart. */
const char *const isolation_choices[] = {"none", "namespaces", "gvisor", "microvm", REMOTE, NULL};

/* -1: no level, as of a provider that runs nothing. */
static int find_rank(const char *name)
{
	for (int i = 0; isolation_choices[i]; i++)
		if (strcmp(isolation_choices[i], name) == 0)
			return i;
	return -1;
}

bool isolation_is_known(const char *name)
{
	return find_rank(name) >= 0;
}

int isolation_check(const char *name, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *levels = "";

	if (isolation_is_known(name))
		return 0;
	for (int i = 0; isolation_choices[i]; i++)
		levels = arena_format(&arena, "%s%s%s", levels, i > 0 ? ", " : "",
		                      isolation_choices[i]);
	return FAIL(err, ERROR_INVALID, "isolation: unknown '%.60s'; levels: %s", name, levels);
}

bool isolation_suffices(const char *given, const char *least)
{
	if (!least || find_rank(least) == 0 || strcmp(given, least) == 0)
		return true;
	if (strcmp(given, REMOTE) == 0 || strcmp(least, REMOTE) == 0)
		return false;
	return find_rank(given) >= find_rank(least);
}
