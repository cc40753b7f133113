/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/server/commands.h"
#include "cli/core/listing.h"
#include "cli/sandbox/sandboxes.h"
#include "cli/server/server_options.h"

static const struct listing_column columns[] = {
        {"KIND", "kind", NULL},
        {"ID", "id", NULL},
        {"NAME", "name", NULL},
        {"REASON", "reason", NULL},
        {"UNTIL", "until", NULL},
        {"SIZE", "size_bytes", listing_bytes},
        {0},
};

static int recover_entry(struct cli *cli, const char *id)
{
	const struct server_call call = {
	        .method = "POST",
	        .path = escaped_path(cli->arena, "/api/sandbox/trash/", id, "/recover")};

	return server_call(cli, &call, NULL);
}

/* Recovers orphans through a running server. */
static int recover_trash(struct cli *cli)
{
	const struct json_value *answer;

	if (cli_connect(cli) < 0)
		return -1;
	if (cli->args.count > 0)
		return sandboxes_each_of(cli, &(struct sandboxes_verb){recover_entry, "recovered"},
		                         cli->args.words);
	if (server_get(cli, "/api/sandbox/trash?all=true", &answer) < 0)
		return -1;
	listing_print(cli, answer_items(answer), columns);
	return 0;
}

static int run_recover(struct cli *cli)
{
	if (arguments_has(&cli->args, "trash"))
		return recover_trash(cli);
	if (cli->args.count > 0)
		return FAIL(cli->err, ERROR_INVALID, "ids are for --trash");
	return server_exec(cli, "--recover");
}

static const struct command_option *recover_options(void)
{
	static const struct command_option own[] = {
	        {"trash", NULL, "list the trash of a running server, or recover the given orphans"},
	        {0},
	};
	static const struct command_option *options;

	if (!options)
		options = server_options_with(own);
	return options;
}

const struct cli_command command_recover = {
        .name = "recover",
        .usage = "[OPTION...] | --trash [ID...]",
        .about = "run the server on a store that lost its rows, and restore the rows",
        .more = "As 'atoll serve', with the same options; but for each sandbox, volume and "
                "snapshot\n"
                "of the data folder that the store does not know, it first makes a row from what\n"
                "is noted beside it. Environments need DATA/keys/secret.key. Lost with the store:\n"
                "keys but the first, members, settings, configs, secrets, webhooks, jobs, "
                "services,\n"
                "events and usage. The log says what was made, and what was guessed. --trash is "
                "for\n"
                "a server that runs, with the admin key.",
        .make_options = recover_options,
        .arguments_max = ANY_NUMBER,
        .run = run_recover,
};
