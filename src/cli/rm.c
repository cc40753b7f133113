/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/sandboxes.h"

static int remove_one(struct cli *cli, const char *sandbox)
{
	if (sandbox_act(cli, sandbox, "") == 0)
		return 0;
	if (arguments_has(&cli->args, "force") && cli->err->code == ERROR_NOT_FOUND)
		return 0;
	return -1;
}

static int rm(struct cli *cli)
{
	return sandboxes_each(cli, &(struct sandboxes_verb){remove_one, "removed"});
}

static const struct command_option options[] = {
        {.name = "all", .letter = 'a', .about = "every sandbox"},
        {.name = "force", .letter = 'f', .about = "one that is not there is fine"},
        {0},
};

const struct command command_rm = {
        .name = "rm",
        .usage = "[--force] SANDBOX... | --all",
        .about = "end sandboxes and remove their files",
        .options = options,
        .arguments_max = ANY_NUMBER,
        .completion = COMPLETE_SANDBOX,
        .run = rm,
};
