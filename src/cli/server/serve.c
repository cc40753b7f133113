/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "cli/core/local.h"
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

/* Appends to the configuration's flags; the array has room for them. */
static char **add_start_flags(struct cli *cli, char **argv)
{
	unsigned count = 1;
	char **grown;

	while (argv[count])
		count++;
	grown = ARENA_ARRAY(cli->arena, char *, count + COUNT_OF(start_options) + 1);
	memcpy(grown, argv, count * sizeof(*argv));
	for (const struct command_option *at = start_options; at->name; at++)
		if (arguments_has(&cli->args, at->name))
			grown[count++] = arena_format(cli->arena, "--%s", at->name);
	return grown;
}

static int run_serve(struct cli *cli)
{
	const char *program;
	char **argv = server_options_flags(cli->arena, &cli->args, "--");

	if (sibling_program(cli->arena, "atolld", &program, cli->err) < 0)
		return -1;
	argv[0] = arena_text(cli->arena, "atolld");
	(void)execv(program, add_start_flags(cli, argv));
	return FAIL_ERRNO(cli->err, "run '%s'", program);
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
