/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/sandbox/sandboxes.h"

static int pause_sandbox(struct cli *cli, const char *sandbox)
{
	return sandbox_act(cli, sandbox, "/pause");
}

static int run_pause(struct cli *cli)
{
	return sandboxes_each(cli, &(struct sandboxes_verb){pause_sandbox, "paused"});
}

static const struct command_option options[] = {
        {.name = "all", .letter = 'a', .about = "every sandbox"},
        {0},
};

const struct cli_command command_pause = {
        .name = "pause",
        .usage = "SANDBOX... | --all",
        .about = "pause sandboxes; memory and processes are kept, their next use resumes them",
        .options = options,
        .arguments_max = ANY_NUMBER,
        .completion = COMPLETE_SANDBOX,
        .run = run_pause,
};
