/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox/commands.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"

static int run_inspect(struct cli *cli)
{
	const struct json_value *sandbox;

	if (cli_connect(cli) < 0)
		return -1;
	for (const char *const *name = cli->args.words; *name; name++) {
		if (server_get(cli, instance_path(cli->arena, *name, ""), &sandbox) < 0)
			return -1;
		print_json(sandbox);
	}
	return 0;
}

const struct cli_command command_inspect = {
        .name = "inspect",
        .usage = "SANDBOX...",
        .about = "show everything about a sandbox, as JSON",
        .arguments_min = 1,
        .arguments_max = ANY_NUMBER,
        .completion = COMPLETE_SANDBOX,
        .run = run_inspect,
};
