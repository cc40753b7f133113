/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/sandbox/commands.h"
#include "cli/sandbox/backup.h"
#include "cli/core/listing.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "cli/core/plain.h"

static void print_taken(struct cli *cli, const struct json_value *taken)
{
	const char *because = json_get_text(taken, "because", NULL);

	(void)printf("%s: %s, processes were paused for %.1f ms\n",
	             text_out_safe(cli->arena, json_get_text(taken, "name", NULL)),
	             text_out_safe(cli->arena, json_get_text(taken, "method", NULL)),
	             json_number(json_get(taken, "frozen_ms"), 0));
	if (because)
		(void)printf("  copied, because %s\n", text_out_safe(cli->arena, because));
}

static const struct listing_column columns[] = {
        {"NAME", "name", NULL},          {"SANDBOX", "sandbox_name", NULL},
        {"PARENT", "parent", NULL},      {"TEMPLATE", "template", NULL},
        {"STATE", "state", NULL},        {"BACKUP", "backup", listing_yes},
        {"CREATED", "created_at", NULL}, {0},
};

static int run_fork(struct cli *cli)
{
	const struct json_value *answer, *items;

	if (plain_call(cli, &answer) < 0)
		return -1;
	if (cli->json)
		print_json(answer);
	items = answer_items(answer);
	for (size_t i = 0; !cli->json && i < json_count(items); i++)
		(void)printf("%s\n", text_out_safe(cli->arena, json_get_text(json_item_at(items, i),
		                                                             "name", NULL)));
	items = json_get(answer, "volumes_left_out");
	for (size_t i = 0; i < json_count(items); i++)
		(void)fprintf(stderr,
		              "volume '%s' is not attached: only one sandbox may write to it\n",
		              text_out_safe(cli->arena,
		                            json_get_text(json_item_at(items, i), "volume", NULL)));
	return 0;
}

static void print_restored(struct cli *cli, const struct json_value *sandbox)
{
	(void)printf("%s has the files of %s and is %s\n",
	             text_out_safe(cli->arena, json_get_text(sandbox, "name", NULL)),
	             cli->args.words[0],
	             text_out_safe(cli->arena, json_get_text(sandbox, "state", NULL)));
}

static const struct command_option create_options[] = {
        {"name", "NAME", "name of the snapshot (default: its id)", .letter = 'n'},
        {"backup", NULL, "also start a backup of it to the blob store"},
        {"memory", NULL, "include the processes; only of a virtual machine"},
        {0},
};
static const struct command_option ls_options[] = {
        {"sandbox", "SANDBOX", "only snapshots of this sandbox", .completion = COMPLETE_SANDBOX},
        {0},
};
static const struct command_option fork_options[] = {
        {"count", "N", "number of sandboxes, up to 100", .letter = 'c', .otherwise = "1"},
        {"name", "NAME", "name of the sandbox; of several: NAME-1, NAME-2", .letter = 'n'},
        {"memory", NULL, "continue with the processes; only of a virtual machine"},
        {0},
};

static const struct command_option rollback_options[] = {
        {"new", NULL, "make a new sandbox with the files; the snapshot's sandbox stays unchanged"},
        {"name", "NAME", "the same, with a name for the new sandbox", .letter = 'n'},
        {0},
};

static const struct cli_command children[] = {
        {"create", "[--name NAME] [--backup] [--memory] SANDBOX",
         "take a snapshot of a sandbox's files", .options = create_options,
         .completion = COMPLETE_SANDBOX, .operation = "POST /api/sandbox/instances/{id}/snapshot",
         .print = print_taken},
        {"ls", "[--sandbox SANDBOX]", "list snapshots, newest first", .options = ls_options,
         .operation = "GET /api/sandbox/snapshots?limit=1000", .columns = columns},
        {"inspect", "SNAPSHOT", "show everything about a snapshot, as JSON",
         .operation = "GET /api/sandbox/snapshots/{id}", .prints = "*"},
        {"rm", "SNAPSHOT...", "remove snapshots; sandboxes made from them keep running",
         .operation = "DELETE /api/sandbox/snapshots/{id}", .arguments_min = 1,
         .arguments_max = ANY_NUMBER, .removes = "snapshot"},
        {"export", "[--name NAME] [--full] SNAPSHOT [FILE]",
         "save a snapshot to the blob store, and to FILE if given",
         .options = snapshot_export_options, .arguments_min = 1, .arguments_max = 2,
         .operation = "POST /api/sandbox/snapshots/{id}/export", .run = snapshot_export},
        {"import", "[--name NAME] [--template TEMPLATE] FILE|BACKUP",
         "make a snapshot from a file or from a backup in the blob store",
         .options = snapshot_import_options, .operation = "POST /api/sandbox/snapshots/import",
         .word = "backup", .run = snapshot_import, .prints = "name"},
        {"backups", "", "list the backups in the blob store, newest first",
         .operation = "GET /api/sandbox/backups", .columns = snapshot_backup_columns},
        {"forget", "BACKUP...", "remove backups from the blob store",
         .operation = "DELETE /api/sandbox/backups/{id}", .arguments_min = 1,
         .arguments_max = ANY_NUMBER, .removes = "backup"},
        {0},
};

const struct cli_command command_snapshot = {
        .name = "snapshot",
        .usage = "COMMAND",
        .about = "take, list, export and remove snapshots of sandboxes' files",
        .children = children,
};

const struct cli_command command_fork = {
        .name = "fork",
        .usage = "[--count N] [--name NAME] [--memory] SANDBOX",
        .about = "make sandboxes with the present files of SANDBOX, which keeps running",
        .options = fork_options,
        .completion = COMPLETE_SANDBOX,
        .operation = "POST /api/sandbox/instances/{id}/fork",
        .run = run_fork,
};

const struct cli_command command_rollback = {
        .name = "rollback",
        .usage = "[--new | --name NAME] SNAPSHOT",
        .about = "restore a snapshot's files in its sandbox, or in a new one if that is deleted",
        .options = rollback_options,
        .operation = "POST /api/sandbox/snapshots/{id}/restore",
        .print = print_restored,
};

const struct cli_command command_reset = {
        .name = "reset",
        .usage = "SANDBOX",
        .about = "end all processes and restore the files that a sandbox was made with",
        .completion = COMPLETE_SANDBOX,
        .operation = "POST /api/sandbox/instances/{id}/reset",
};
