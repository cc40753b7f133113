/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/path_argument.h"

#include <string.h>

int path_argument_parse(struct arena *a, const char *text, struct path_argument *ret,
                        struct error *err)
{
	size_t size = strcspn(text, ":/");

	if (!text[0])
		return FAIL(err, ERROR_INVALID, "a path is empty");
	if (text[size] != ':') {
		*ret = (struct path_argument){.path = text};
		return 0;
	}
	if (size == 0) {
		(void)FAIL(err, ERROR_INVALID, "'%s' has no sandbox before the ':'", text);
		return FAIL_HINT(err, "write SANDBOX:PATH, or ./%s for a local file", text);
	}
	ret->sandbox = arena_copy(a, (struct span){text, size});
	ret->path = text + size + 1;
	return 0;
}

int copy_targets_parse(struct arena *a, const char *from, const char *to, struct copy_targets *ret,
                       struct error *err)
{
	struct copy_targets both = {0};

	if (path_argument_parse(a, from, &both.from, err) < 0 ||
	    path_argument_parse(a, to, &both.to, err) < 0)
		return -1;
	if (!both.from.sandbox == !both.to.sandbox) {
		(void)FAIL(err, ERROR_INVALID, "%s",
		           both.from.sandbox ? "both paths are in sandboxes"
		                             : "neither path is in a sandbox");
		return FAIL_HINT(err, "write one of them as SANDBOX:PATH");
	}
	both.upload = both.to.sandbox != NULL;
	*ret = both;
	return 0;
}

int copy_option_parse(struct arena *a, const char *text, const char **ret_local,
                      const char **ret_remote, struct error *err)
{
	const char *colon = strrchr(text, ':');

	if (!colon || colon == text || !colon[1]) {
		(void)FAIL(err, ERROR_INVALID, "'%s' is not LOCAL:REMOTE", text);
		return FAIL_HINT(err, "write LOCAL:REMOTE, such as data.csv:/home/user/project/");
	}
	*ret_local = arena_copy(a, (struct span){text, (size_t)(colon - text)});
	*ret_remote = colon + 1;
	return 0;
}
