/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/sandbox/sandboxes.h"

static int archive_sandbox(struct cli *cli, const char *sandbox)
{
	return sandbox_act(cli, sandbox, "/archive");
}

static int run_archive(struct cli *cli)
{
	return sandboxes_each(cli, &(struct sandboxes_verb){archive_sandbox, "archived"});
}

const struct cli_command command_archive = {
        .name = "archive",
        .usage = "SANDBOX...",
        .about = "move stopped sandboxes' files to the blob store; start brings them back",
        .arguments_min = 1,
        .arguments_max = ANY_NUMBER,
        .completion = COMPLETE_SANDBOX,
        .run = run_archive,
};
