/* SPDX-License-Identifier: Apache-2.0 */
/* cli/terminal/terminal.h — shows a terminal of a sandbox in the local terminal. */
#pragma once

#include "cli/core/command.h"

struct terminal_options {
	const char *sandbox;
	const char **args; /* the command; NULL = a login shell */
	const char *name;  /* of the window; NULL = a new one */
	const char *cwd, *user;
	const char *const *env;
	bool takes_over, read_only, record;
};
/* Runs until the command ends or Ctrl-\ detaches. Then the command keeps running and *ret_detached
 * is set. */
MUST_CHECK int terminal_run(struct cli *cli, const struct terminal_options *options,
                            int *ret_status, bool *ret_detached);
/* Whether standard input and output are a terminal. */
bool terminal_is_here(void);

/* Quotes the words as one shell line that runs exactly them. */
const char *terminal_quote(struct arena *a, const char *const *args);
