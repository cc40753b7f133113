/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/server.h"
#include "cli/text_out.h"

static int run_whoami(struct cli *cli)
{
	const struct json_value *me;

	if (cli_connect(cli) < 0 || server_get(cli, "/accounts/me", &me) < 0)
		return -1;
	print_json(me);
	return 0;
}

const struct cli_command command_whoami = {
        .name = "whoami",
        .usage = "",
        .about = "show the key's project, scopes, user and role, as JSON",
        .run = run_whoami,
};
