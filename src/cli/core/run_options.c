/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/run_options.h"

const char *const *arguments_list(struct cli *cli, const char *name)
{
	const char **list = ARENA_ARRAY(cli->arena, const char *, cli->args.value_count + 1);

	for (unsigned i = 0; (list[i] = arguments_text_at(&cli->args, name, i)); i++)
		;
	return list;
}

int run_options_parse(struct cli *cli, struct session_options *options)
{
	const struct cli_arguments *args = &cli->args;
	const char *ignored;

	if (!args->inner) {
		(void)FAIL(cli->err, ERROR_INVALID, "no command is given");
		return FAIL_HINT(cli->err, "usage: atoll %s %s", cli->command->name,
		                 cli->command->usage);
	}
	options->args = args->inner;
	options->cwd = arguments_text(args, "workdir", NULL);
	options->user = arguments_text(args, "user", NULL);
	options->env = arguments_list(cli, "env");
	options->is_recorded = arguments_has(args, "record");
	if (session_env_json(cli->arena, options->env, &ignored, cli->err) < 0)
		return -1;
	return arguments_duration(args, "timeout", &options->timeout_ms, cli->err);
}
