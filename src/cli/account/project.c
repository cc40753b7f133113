/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/body.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/server.h"
#include "cli/text_out.h"

#define BODY_MAX 65536
#define SANDBOXES_MIN 0

/* NULL for 0, the platform's limit. */
static const char *most_cell(struct arena *a, const struct json_value *value)
{
	int64_t most = json_whole(value, 0);

	return most ? arena_format(a, "%lld", (long long)most) : NULL;
}

static const char *state_cell(struct arena *a, const struct json_value *closing)
{
	(void)a;
	return json_bool(closing, false) ? "being deleted" : "open";
}

static const struct listing_column columns[] = {
        {"ID", "id", NULL},
        {"NAME", "name", NULL},
        {"SANDBOXES MAX", "sandboxes_max", most_cell},
        {"STATE", "closing", state_cell},
        {0},
};

static int project_ls(struct cli *cli)
{
	return listing_run(cli, PROJECTS "?limit=1000", columns);
}

static const char *project_path(struct cli *cli, const char *suffix)
{
	return escaped_path(cli->arena, PROJECTS "/", cli->args.words[0], suffix);
}

static int project_inspect(struct cli *cli)
{
	const struct json_value *project;

	if (cli_connect(cli) < 0 || server_get(cli, project_path(cli, ""), &project) < 0)
		return -1;
	print_json(project);
	return 0;
}

static int project_storage(struct cli *cli)
{
	const struct json_value *storage;

	if (cli_connect(cli) < 0 || server_get(cli, project_path(cli, "/storage"), &storage) < 0)
		return -1;
	print_json(storage);
	return 0;
}

static int add_most(struct cli *cli, struct buf *body)
{
	int64_t most = -1;

	if (arguments_whole(&cli->args, "sandboxes-max", SANDBOXES_MIN, &most, cli->err) < 0)
		return -1;
	if (most >= 0)
		body_add_whole(body, "sandboxes_max", most);
	most = -1;
	if (arguments_whole(&cli->args, "storage-max-mb", 0, &most, cli->err) < 0)
		return -1;
	if (most >= 0)
		body_add_whole(body, "storage_max_mb", most);
	return 0;
}

static int project_create(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct server_call call = {.method = "POST", .path = PROJECTS};
	const struct json_value *project;

	body_begin(&body);
	body_add_text(&body, "name", cli->args.words[0]);
	body_add_text(&body, "id", arguments_text(&cli->args, "id", NULL));
	body_add_text(&body, "owner", arguments_text(&cli->args, "owner", NULL));
	if (add_most(cli, &body) < 0)
		return -1;
	call.body = body_end(&body);
	if (cli_connect(cli) < 0 || server_call(cli, &call, &project) < 0)
		return -1;
	if (cli->json)
		print_json(project);
	else
		(void)printf("%s\n",
		             text_out_safe(cli->arena, json_text(json_get(project, "id"), "")));
	return 0;
}

static int project_set(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct server_call call = {.method = "PATCH", .path = project_path(cli, "")};
	const struct json_value *project;

	body_begin(&body);
	body_add_text(&body, "name", arguments_text(&cli->args, "name", NULL));
	if (add_most(cli, &body) < 0)
		return -1;
	call.body = body_end(&body);
	if (strcmp(call.body, "{}") == 0)
		return FAIL(cli->err, ERROR_INVALID, "nothing to change is given");
	if (cli_connect(cli) < 0 || server_call(cli, &call, &project) < 0)
		return -1;
	if (cli->json)
		print_json(project);
	return 0;
}

static int project_rm(struct cli *cli)
{
	bool force = arguments_has(&cli->args, "force");

	return server_delete(cli, project_path(cli, force ? "?force=true" : ""), "removed");
}

#define OPTION_MOST                                                                                \
	{                                                                                          \
		.name = "sandboxes-max", .value = "NUMBER",                                        \
		.about = "sandboxes at once; 0 = the platform's limit"                             \
	}

#define OPTION_STORAGE                                                                             \
	{                                                                                          \
		.name = "storage-max-mb", .value = "MIB",                                          \
		.about = "templates, snapshots, backups and volumes; 0 = the platform's limit"     \
	}

static const struct command_option create_options[] = {
        {.name = "id", .value = "ID", .about = "id of the project (default: generated)"},
        {.name = "owner", .value = "USER", .about = "user who becomes the first admin"},
        OPTION_MOST,
        OPTION_STORAGE,
        {0},
};
static const struct command_option set_options[] = {
        {.name = "name", .value = "NAME", .about = "a new name"},
        OPTION_MOST,
        OPTION_STORAGE,
        {0},
};
static const struct command_option rm_options[] = {
        {.name = "force", .letter = 'f', .about = "also delete its sandboxes"},
        {0},
};

static const struct cli_command list = {
        .name = "ls",
        .usage = "",
        .about = "list projects; a key of the platform's admin sees all",
        .run = project_ls,
};
static const struct cli_command inspect = {
        .name = "inspect",
        .usage = "PROJECT",
        .about = "show everything about a project, as JSON; 'me' is the key's own",
        .arguments_min = 1,
        .arguments_max = 1,
        .run = project_inspect,
};
static const struct cli_command storage = {
        .name = "storage",
        .usage = "PROJECT",
        .about = "show a project's disk use and its limits, as JSON",
        .arguments_min = 1,
        .arguments_max = 1,
        .run = project_storage,
};
static const struct cli_command create = {
        .name = "create",
        .usage = "[OPTION...] NAME",
        .about = "make a project and print its id",
        .options = create_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = project_create,
};
static const struct cli_command set = {
        .name = "set",
        .usage = "PROJECT OPTION...",
        .about = "change a project",
        .options = set_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = project_set,
};
static const struct cli_command remove_it = {
        .name = "rm",
        .usage = "[--force] PROJECT",
        .about = "delete a project and everything in it",
        .options = rm_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = project_rm,
};
static const struct cli_command *const children[] = {&list, &inspect,   &storage, &create,
                                                     &set,  &remove_it, NULL};

const struct cli_command command_project = {
        .name = "project",
        .usage = "COMMAND",
        .about = "list, make, change and remove projects",
        .children = children,
};
