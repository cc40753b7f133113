/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/sandbox/sandboxes.h"

static int stop_sandbox(struct cli *cli, const char *sandbox)
{
	return sandbox_act(cli, sandbox, "/stop");
}

static int run_stop(struct cli *cli)
{
	return sandboxes_each(cli, &(struct sandboxes_verb){stop_sandbox, "stopped"});
}

static const struct command_option options[] = {
        {.name = "all", .letter = 'a', .about = "every sandbox"},
        {0},
};

const struct cli_command command_stop = {
        .name = "stop",
        .usage = "SANDBOX... | --all",
        .about = "stop sandboxes; their files are kept",
        .options = options,
        .arguments_max = ANY_NUMBER,
        .completion = COMPLETE_SANDBOX,
        .run = run_stop,
};
