/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/sandbox/sandboxes.h"

static int start_sandbox(struct cli *cli, const char *sandbox)
{
	return sandbox_act(cli, sandbox, "/start");
}

static int run_start(struct cli *cli)
{
	return sandboxes_each(cli, &(struct sandboxes_verb){start_sandbox, "started"});
}

static const struct command_option options[] = {
        {.name = "all", .letter = 'a', .about = "every sandbox"},
        {0},
};

const struct cli_command command_start = {
        .name = "start",
        .usage = "SANDBOX... | --all",
        .about = "start stopped sandboxes with the files they had",
        .options = options,
        .arguments_max = ANY_NUMBER,
        .completion = COMPLETE_SANDBOX,
        .run = run_start,
};
