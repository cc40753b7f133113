/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/server.h"
#include "cli/text_out.h"

#define SNAPSHOTS "/api/sandbox/snapshots"

static const char *text_of(const struct json_value *object, const char *name)
{
	return json_text(json_get(object, name), NULL);
}

/* {"name":"…"} with the option --name, or {}, and `more` members. */
static const char *body_of(struct cli *cli, const char *more)
{
	const char *name = arguments_text(&cli->args, "name", NULL);

	if (!name)
		return arena_format(cli->arena, "{%s}", more);
	return arena_format(cli->arena, "{\"name\":%s%s%s}", json_quoted(cli->arena, name),
	                    *more ? "," : "", more);
}

/* ---- snapshot ---- */

static void print_taken(struct cli *cli, const struct json_value *taken)
{
	const char *because = text_of(taken, "because");

	(void)printf("%s: %s, processes were paused for %.1f ms\n",
	             text_out_safe(cli->arena, text_of(taken, "name")),
	             text_out_safe(cli->arena, text_of(taken, "method")),
	             json_number(json_get(taken, "frozen_ms"), 0));
	if (because)
		(void)printf("  copied, because %s\n", text_out_safe(cli->arena, because));
}

static int snapshot_create(struct cli *cli)
{
	struct server_call call = {
	        .method = "POST",
	        .path = instance_path(cli->arena, cli->args.words[0], "/snapshot"),
	        .body = body_of(cli, arguments_has(&cli->args, "backup") ? "\"backup\":true" : ""),
	};
	const struct json_value *taken;

	if (cli_connect(cli) < 0 || server_call(cli, &call, &taken) < 0)
		return -1;
	if (cli->json)
		print_json(taken);
	else
		print_taken(cli, taken);
	return 0;
}

static const char *backup_cell(UNUSED struct arena *a, const struct json_value *value)
{
	return json_bool(value, false) ? "yes" : NULL;
}

static const struct listing_column columns[] = {
        {"NAME", "name", NULL},          {"SANDBOX", "sandbox_name", NULL},
        {"PARENT", "parent", NULL},      {"TEMPLATE", "template", NULL},
        {"STATE", "state", NULL},        {"BACKUP", "backup", backup_cell},
        {"CREATED", "created_at", NULL}, {0},
};

static int snapshot_ls(struct cli *cli)
{
	const char *sandbox = arguments_text(&cli->args, "sandbox", NULL);
	const char *path = SNAPSHOTS "?limit=1000";

	if (sandbox)
		path = escaped_path(cli->arena, SNAPSHOTS "?limit=1000&sandbox=", sandbox, "");
	return listing_run(cli, path, columns);
}

static int snapshot_inspect(struct cli *cli)
{
	const char *path = escaped_path(cli->arena, SNAPSHOTS "/", cli->args.words[0], "");
	const struct json_value *snapshot;

	if (cli_connect(cli) < 0 || server_get(cli, path, &snapshot) < 0)
		return -1;
	print_json(snapshot);
	return 0;
}

static int snapshot_rm(struct cli *cli)
{
	return server_delete_each(cli, SNAPSHOTS "/", "snapshot");
}

/* ---- fork ---- */

static int run_fork(struct cli *cli)
{
	const struct json_value *answer, *items;
	struct server_call call = {.method = "POST"};
	int64_t count = 1;

	if (arguments_whole(&cli->args, "count", 1, &count, cli->err) < 0)
		return -1;
	call.path = instance_path(cli->arena, cli->args.words[0], "/fork");
	call.body = body_of(cli, arena_format(cli->arena, "\"count\":%lld", (long long)count));
	if (cli_connect(cli) < 0 || server_call(cli, &call, &answer) < 0)
		return -1;
	if (cli->json)
		print_json(answer);
	items = answer_items(answer);
	for (size_t i = 0; !cli->json && i < json_count(items); i++)
		(void)printf("%s\n",
		             text_out_safe(cli->arena, text_of(json_item_at(items, i), "name")));
	items = json_get(answer, "volumes_left_out");
	for (size_t i = 0; i < json_count(items); i++)
		(void)fprintf(stderr,
		              "volume '%s' is not attached: only one sandbox may write to it\n",
		              text_out_safe(cli->arena, text_of(json_item_at(items, i), "volume")));
	return 0;
}

/* ---- rollback ---- */

static int run_rollback(struct cli *cli)
{
	const char *name = cli->args.words[0];
	struct server_call call = {
	        .method = "POST",
	        .path = escaped_path(cli->arena, SNAPSHOTS "/", name, "/restore"),
	        .body = body_of(cli, arguments_has(&cli->args, "new") ? "\"new\":true" : ""),
	};
	const struct json_value *sandbox;

	if (cli_connect(cli) < 0 || server_call(cli, &call, &sandbox) < 0)
		return -1;
	if (cli->json)
		print_json(sandbox);
	else
		(void)printf("%s has the files of %s and is %s\n",
		             text_out_safe(cli->arena, text_of(sandbox, "name")), name,
		             text_out_safe(cli->arena, text_of(sandbox, "state")));
	return 0;
}

/* ---- reset ---- */

static int run_reset(struct cli *cli)
{
	struct server_call call = {
	        .method = "POST",
	        .path = instance_path(cli->arena, cli->args.words[0], "/reset"),
	};
	const struct json_value *sandbox;

	if (cli_connect(cli) < 0 || server_call(cli, &call, &sandbox) < 0)
		return -1;
	if (cli->json)
		print_json(sandbox);
	return 0;
}

/* ---- tables ---- */

static const struct command_option create_options[] = {
        {.name = "name",
         .letter = 'n',
         .value = "NAME",
         .about = "name of the snapshot (default: its id)"},
        {.name = "backup", .about = "also start a backup of it to the blob store"},
        {0},
};
static const struct command_option ls_options[] = {
        {.name = "sandbox",
         .value = "SANDBOX",
         .about = "only snapshots of this sandbox",
         .completion = COMPLETE_SANDBOX},
        {0},
};
static const struct command_option fork_options[] = {
        {.name = "count", .letter = 'c', .value = "N", .about = "number of sandboxes, up to 100"},
        {.name = "name",
         .letter = 'n',
         .value = "NAME",
         .about = "name of the sandbox; of several: NAME-1, NAME-2"},
        {0},
};

static const struct command_option rollback_options[] = {
        {.name = "new",
         .about = "make a new sandbox with the files; the snapshot's sandbox stays unchanged"},
        {.name = "name",
         .letter = 'n',
         .value = "NAME",
         .about = "the same, with a name for the new sandbox"},
        {0},
};

static const struct cli_command create = {
        .name = "create",
        .usage = "[--name NAME] [--backup] SANDBOX",
        .about = "take a snapshot of a sandbox's files",
        .options = create_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_SANDBOX,
        .run = snapshot_create,
};
static const struct cli_command list = {
        .name = "ls",
        .usage = "[--sandbox SANDBOX]",
        .about = "list snapshots, newest first",
        .options = ls_options,
        .run = snapshot_ls,
};
static const struct cli_command inspect = {
        .name = "inspect",
        .usage = "SNAPSHOT",
        .about = "show everything about a snapshot, as JSON",
        .arguments_min = 1,
        .arguments_max = 1,
        .run = snapshot_inspect,
};
static const struct cli_command remove_it = {
        .name = "rm",
        .usage = "SNAPSHOT...",
        .about = "remove snapshots; sandboxes made from them keep running",
        .arguments_min = 1,
        .arguments_max = ANY_NUMBER,
        .run = snapshot_rm,
};
static const struct cli_command *const children[] = {&create,
                                                     &list,
                                                     &inspect,
                                                     &remove_it,
                                                     &command_snapshot_export,
                                                     &command_snapshot_import,
                                                     &command_snapshot_backups,
                                                     &command_snapshot_forget,
                                                     NULL};

const struct cli_command command_snapshot = {
        .name = "snapshot",
        .usage = "COMMAND",
        .about = "take, list, export and remove snapshots of sandboxes' files",
        .children = children,
};

const struct cli_command command_fork = {
        .name = "fork",
        .usage = "[--count N] [--name NAME] SANDBOX",
        .about = "make sandboxes with the present files of SANDBOX, which keeps running",
        .options = fork_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_SANDBOX,
        .run = run_fork,
};

const struct cli_command command_rollback = {
        .name = "rollback",
        .usage = "[--new | --name NAME] SNAPSHOT",
        .about = "restore a snapshot's files in its sandbox, or in a new one if that is deleted",
        .options = rollback_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = run_rollback,
};

const struct cli_command command_reset = {
        .name = "reset",
        .usage = "SANDBOX",
        .about = "end all processes and restore the files that a sandbox was made with",
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_SANDBOX,
        .run = run_reset,
};
