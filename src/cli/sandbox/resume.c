/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/sandbox/sandboxes.h"

static int resume_sandbox(struct cli *cli, const char *sandbox)
{
	return sandbox_act(cli, sandbox, "/resume");
}

static int run_resume(struct cli *cli)
{
	return sandboxes_each(cli, &(struct sandboxes_verb){resume_sandbox, "resumed"});
}

static const struct command_option options[] = {
        {.name = "all", .letter = 'a', .about = "every sandbox"},
        {0},
};

const struct cli_command command_resume = {
        .name = "resume",
        .usage = "SANDBOX... | --all",
        .about = "resume paused sandboxes",
        .options = options,
        .arguments_max = ANY_NUMBER,
        .completion = COMPLETE_SANDBOX,
        .run = run_resume,
};
