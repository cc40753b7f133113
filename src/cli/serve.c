/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "cli/local.h"
#include "cli/commands.h"
#include "cli/server_options.h"

static int serve(struct cli *cli)
{
	const char *program;
	char **argv = server_options_flags(cli->arena, &cli->args, "--");

	if (sibling_program(cli->arena, "atolld", &program, cli->err) < 0)
		return -1;
	argv[0] = arena_text(cli->arena, "atolld");
	(void)execv(program, argv);
	return FAIL_ERRNO(cli->err, "run '%s'", program);
}

const struct command command_serve = {
        .name = "serve",
        .usage = "[OPTION...]",
        .about = "run the server in the foreground",
        .more = "The first start writes the admin key to DATA/admin.key. SIGTERM or Ctrl-C ends\n"
                "it; sandboxes go on and are adopted by the next start. Every option may be in\n"
                "DATA/atoll.yaml or in the environment as well: see 'atoll config'.",
        .make_options = server_options,
        .run = serve,
};
