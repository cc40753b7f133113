/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/sandboxes.h — lists of sandboxes, and one call for each of several. Private to this
 * folder.
 */
#pragma once

#include "cli/server.h"

struct sandbox_names {
	const struct json_value **items;
	size_t count;
};
/* Every page. Without `all` only those that are started or on their way to it. */
MUST_CHECK int sandboxes_list(struct cli *cli, bool all, struct sandbox_names *ret);

/* Calls `each` for every argument, or for every sandbox with --all. Goes on after a failure, tells
 * it at once, and fails at the end with the last one. */
struct sandboxes_verb {
	int (*each)(struct cli *cli, const char *sandbox);
	const char *done; /* "stopped" */
};
int sandboxes_each(struct cli *cli, const struct sandboxes_verb *verb);
/* The same for these, NULL-terminated, of a server that is connected. */
int sandboxes_each_of(struct cli *cli, const struct sandboxes_verb *verb, const char *const *names);
/* Whether a running build made it for itself. */
bool sandbox_is_of_build(const struct json_value *sandbox);
/* POST to the sandbox's `action`, or DELETE it when `action` is "". */
MUST_CHECK int sandbox_act(struct cli *cli, const char *sandbox, const char *action);
