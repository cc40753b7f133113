/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/terminal/commands.h"
#include "cli/core/run_options.h"
#include "cli/terminal/terminal.h"

static int run_shell(struct cli *cli)
{
	struct terminal_options options = {
	        .sandbox = cli->args.words[0],
	        .args = cli->args.inner,
	        .cwd = arguments_text(&cli->args, "workdir", NULL),
	        .user = arguments_text(&cli->args, "user", NULL),
	        .env = arguments_list(cli, "env"),
	};
	bool detached;
	int status;

	if (!terminal_is_here()) {
		(void)FAIL(cli->err, ERROR_INVALID, "'shell' needs a terminal");
		return FAIL_HINT(cli->err, "use 'atoll exec SANDBOX -- COMMAND' in scripts");
	}
	if (cli_connect(cli) < 0 || terminal_run(cli, &options, &status, &detached) < 0)
		return -1;
	if (detached)
		(void)fprintf(stderr, "\r\nDetached; the shell keeps running in '%s'.\n",
		              options.sandbox);
	return status;
}

static const struct command_option options[] = {
        OPTION_ENV,
        OPTION_WORKDIR,
        OPTION_USER,
        {0},
};

const struct cli_command command_shell = {
        .name = "shell",
        .usage = "[OPTION...] SANDBOX [-- COMMAND [ARG...]]",
        .about = "open a terminal in a sandbox",
        .more = "Ctrl-\\ detaches; programs in the terminal keep running.",
        .options = options,
        .arguments_min = 1,
        .arguments_max = 1,
        .own_arguments = 1,
        .has_inner_command = true,
        .completion = COMPLETE_SANDBOX,
        .run = run_shell,
};
