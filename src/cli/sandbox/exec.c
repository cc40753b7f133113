/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/sandbox/commands.h"
#include "cli/core/run_options.h"
#include "cli/core/session.h"
#include "cli/terminal/terminal.h"

static int exec_in_terminal(struct cli *cli, const struct session_options *o)
{
	struct terminal_options options = {
	        .sandbox = o->sandbox,
	        .args = o->args,
	        .cwd = o->cwd,
	        .user = o->user,
	        .env = o->env,
	        .record = o->is_recorded,
	};
	bool detached;
	int status;

	if (terminal_run(cli, &options, &status, &detached) < 0)
		return -1;
	if (detached)
		(void)fprintf(stderr,
		              "\r\nDetached; the command keeps running. See 'atoll logs %s'.\n",
		              o->sandbox);
	return status;
}

static int run_exec(struct cli *cli)
{
	struct session_options options = {.sandbox = cli->args.words[0]};
	int status;

	if (run_options_parse(cli, &options) < 0 || cli_connect(cli) < 0)
		return -1;
	if (arguments_has(&cli->args, "interactive") && terminal_is_here())
		return exec_in_terminal(cli, &options);
	if (cli->json)
		return session_collect(cli, &options, &status) < 0 ? -1 : status;
	session_block_signals();
	return session_run(cli, &options, &status) < 0 ? -1 : status;
}

static const struct command_option options[] = {
        OPTIONS_RUN,
        OPTION_RECORD,
        {0},
};

const struct cli_command command_exec = {
        .name = "exec",
        .usage = "[OPTION...] SANDBOX -- COMMAND [ARG...]",
        .about = "run a command in a sandbox",
        .more = "Output, input, Ctrl-C and the exit status are the command's, as if it ran here.\n"
                "A second Ctrl-C kills it and its children. With --json the command gets no input\n"
                "and its result is printed at the end.",
        .options = options,
        .arguments_min = 1,
        .arguments_max = 1,
        .own_arguments = 1,
        .has_inner_command = true,
        .completion = COMPLETE_SANDBOX,
        .run = run_exec,
};
