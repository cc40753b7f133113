/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/server/commands.h"
#include "cli/server/server_options.h"

/* Options of a single start, which the configuration does not have. */
static const struct command_option start_options[] = {
        {"adopt", NULL,
         "use a store that does not match the data folder: files that it does not know go to the "
         "trash"},
        {0},
};

/* Cached, because help and the parser ask several times. */
static const struct command_option *serve_options(void)
{
	static const struct command_option *options;

	if (!options)
		options = server_options_with(start_options);
	return options;
}

static int run_serve(struct cli *cli)
{
	return server_exec(cli, arguments_has(&cli->args, "adopt") ? "--adopt" : NULL);
}

const struct cli_command command_serve = {
        .name = "serve",
        .usage = "[OPTION...]",
        .about = "run the server in the foreground",
        .more = "The first start writes the admin key to DATA/admin.key. SIGTERM or Ctrl-C ends\n"
                "it; sandboxes keep running and the next start adopts them. Every option may be "
                "in\n"
                "DATA/atoll.yaml or in the environment, too: see 'atoll config'.",
        .make_options = serve_options,
        .run = run_serve,
};
