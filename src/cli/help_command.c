/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/help.h"

/* Handles "help", "help COMMAND" and "help COMMAND SUBCOMMAND". */
static int run_help(struct cli *cli)
{
	const struct cli_command *parent = NULL, *command = NULL;

	for (const char *const *word = cli->args.words; *word; word++) {
		parent = command;
		command =
		        parent ? command_find_child(parent, *word) : command_find(commands, *word);
		if (!command)
			return command_refuse(commands, parent, *word, cli->err);
	}
	help_show(parent, command, &cli->display);
	return 0;
}

const struct cli_command command_help = {
        .name = "help",
        .usage = "[COMMAND [SUBCOMMAND]]",
        .about = "show help",
        .arguments_max = 2,
        .run = run_help,
};

static int run_completion(struct cli *cli)
{
	AUTO(buf_done) struct buf text = BUF(HELP_SIZE_MAX);

	if (completion_print(&text, cli->args.words[0], cli->err) < 0)
		return -1;
	(void)fputs(buf_text(&text), stdout);
	return 0;
}

const struct cli_command command_completion = {
        .name = "completion",
        .usage = "bash|zsh|fish",
        .about = "print a script that completes commands in a shell",
        .more = "  source <(atoll completion bash)",
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_SHELL,
        .run = run_completion,
};
