/* SPDX-License-Identifier: Apache-2.0 */
/* `atoll backup` and `atoll restore`: the program atoll-backup (server_backup/server_backup.h) does
 * the work. */
#include <string.h>
#include <unistd.h>

#include "cli/core/local.h"
#include "cli/server/commands.h"

static int run_program(struct cli *cli, const char *verb)
{
	static const char *const switches[] = {"check", "force"};
	const char *data, *server, *program, *argv[12],
	        *config = arguments_text(&cli->args, "config", NULL);
	unsigned count = 0;

	if (local_data_dir(cli->arena, &data, cli->err) < 0 ||
	    server_program_find(cli->arena, &server, cli->err) < 0)
		return -1;
	program = arena_format(cli->arena, "%.*s/atoll-backup",
	                       (int)(strrchr(server, '/') - server), server);
	argv[count++] = "atoll-backup";
	argv[count++] = verb;
	argv[count++] = "--data";
	argv[count++] = arguments_text(&cli->args, "data", data);
	if (config) {
		argv[count++] = "--config";
		argv[count++] = config;
	}
	if (cli->json)
		argv[count++] = "--json";
	for (unsigned i = 0; i < COUNT_OF(switches); i++) {
		if (arguments_has(&cli->args, switches[i]))
			argv[count++] = arena_format(cli->arena, "--%s", switches[i]);
	}
	argv[count++] = "--";
	argv[count++] = cli->args.words[0];
	argv[count] = NULL;
	(void)execv(program, (char *const *)(void *)argv);
	return FAIL_ERRNO(cli->err, "run '%s'", program);
}

static int run_backup(struct cli *cli)
{
	return run_program(cli, "backup");
}

static int run_restore(struct cli *cli)
{
	return run_program(cli, "restore");
}

#define DATA                                                                                       \
	{                                                                                          \
		"data", "DIR", "data folder of the server", .completion = COMPLETE_FOLDER          \
	}
#define CONFIG                                                                                     \
	{                                                                                          \
		"config", "FILE", "read this file instead of DATA/atoll.yaml",                     \
		        .completion = COMPLETE_FILE                                                \
	}
static const struct command_option backup_options[] = {
        DATA, CONFIG, {"force", NULL, "replace an existing file"}, {0}};
static const struct command_option restore_options[] = {
        DATA, CONFIG, {"check", NULL, "read the whole file, and restore nothing"}, {0}};

const struct cli_command command_backup = {
        .name = "backup",
        .usage = "[--data DIR] [--force] FILE|FOLDER",
        .about = "write the whole server into one file, while it runs",
        .more = "The file has the database, keys, secrets, configuration, templates, snapshots,\n"
                "volumes and files of sandboxes; keep it secret. In a FOLDER it is named after\n"
                "this machine and the time. Processes of a sandbox are held for milliseconds;\n"
                "sandboxes with a volume are paused while it is read. Needs root. For a sandbox\n"
                "alone see 'atoll snapshot export'.",
        .options = backup_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_FILE,
        .run = run_backup,
};

const struct cli_command command_restore = {
        .name = "restore",
        .usage = "[--data DIR] [--check] FILE",
        .about = "make a data folder of a file of 'atoll backup'",
        .more = "The data folder must be empty or missing. The whole file is checked before "
                "anything\n"
                "is written, and the folder appears whole or not at all. Its sandboxes are "
                "stopped;\n"
                "'atoll start' starts them. Needs root.",
        .options = restore_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_FILE,
        .run = run_restore,
};
