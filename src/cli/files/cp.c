/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/files/commands.h"
#include "cli/files/path_argument.h"
#include "cli/files/transfer.h"

static int copy_path(struct cli *cli, const char *from, const char *to)
{
	struct copy_targets targets;

	if (copy_targets_parse(cli->arena, from, to, &targets, cli->err) < 0)
		return -1;
	if (targets.upload)
		return transfer_to_sandbox(cli, targets.from.path, targets.to.sandbox,
		                           targets.to.path);
	return transfer_from_sandbox(cli, targets.from.sandbox, targets.from.path, targets.to.path);
}

static int run_cp(struct cli *cli)
{
	const char *to = cli->args.words[cli->args.count - 1];
	struct copy_targets checked;

	/* Checks all paths before anything is copied. */
	for (unsigned i = 0; i + 1 < cli->args.count; i++) {
		if (copy_targets_parse(cli->arena, cli->args.words[i], to, &checked, cli->err) < 0)
			return -1;
	}
	if (cli_connect(cli) < 0)
		return -1;
	for (unsigned i = 0; i + 1 < cli->args.count; i++) {
		if (copy_path(cli, cli->args.words[i], to) < 0)
			return FAIL_CONTEXT(cli->err, "copy '%s'", cli->args.words[i]);
	}
	if (cli->json)
		(void)printf("{\"copied\":%u}\n", cli->args.count - 1);
	return 0;
}

const struct cli_command command_cp = {
        .name = "cp",
        .usage = "SOURCE... SANDBOX:PATH | SANDBOX:PATH... TARGET",
        .about = "copy files and folders to or from a sandbox",
        .more = "Paths in a sandbox are absolute or relative to the project folder. A target\n"
                "that is a folder receives the copies under their own names.",
        .arguments_min = 2,
        .arguments_max = ANY_NUMBER,
        .completion = COMPLETE_SANDBOX_OR_FILE,
        .run = run_cp,
};
