/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/server/commands.h"

static int run_version(struct cli *cli)
{
	(void)printf(cli->json ? "{\"version\":\"%s\"}\n" : "atoll %s\n", ATOLL_VERSION);
	return 0;
}

const struct cli_command command_version = {
        .name = "version",
        .usage = "",
        .about = "print the version",
        .run = run_version,
};
