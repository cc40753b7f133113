/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/sandboxes.h — lists sandboxes, and applies a call to several of them. */
#pragma once

#include "cli/core/server.h"

struct sandbox_names {
	const struct json_value **items;
	size_t count;
};
/* Lists all pages. Without `all`, only sandboxes that are started or being started, and none of
 * builds. */
MUST_CHECK int sandboxes_list(struct cli *cli, bool all, struct sandbox_names *ret);
struct sandbox_choice {
	const char *conditions;       /* of the list's query, "&state=paused&q=x"; "" = none */
	bool has_ended, is_of_builds; /* also those that ended, and those of builds */
};
MUST_CHECK int sandboxes_choose(struct cli *cli, const struct sandbox_choice *choice,
                                struct sandbox_names *ret);

/* Calls `each` for every argument, or for every sandbox with --all. Prints each failure and
 * continues; finally fails with the last error. */
struct sandboxes_verb {
	int (*each)(struct cli *cli, const char *sandbox);
	const char *done; /* "stopped" */
};
int sandboxes_each(struct cli *cli, const struct sandboxes_verb *verb);
/* The same for these names, NULL-terminated, after cli_connect. */
int sandboxes_each_of(struct cli *cli, const struct sandboxes_verb *verb, const char *const *names);
/* Whether a running build made the sandbox for itself. */
bool sandbox_is_of_build(const struct json_value *sandbox);
