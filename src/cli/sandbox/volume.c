/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/server.h"
#include "cli/text_out.h"
#include "cli/files/transfer.h"

#define VOLUMES "/api/sandbox/volumes"

static const char *volume_path(struct cli *cli, const char *volume, const char *suffix)
{
	return escaped_path(cli->arena, VOLUMES "/", volume, suffix);
}

/* "/api/…/VOLUME/files/KIND?path=PATH" */
static const char *file_path(struct cli *cli, const char *volume, const char *kind,
                             const char *path)
{
	return volume_path(cli, volume, escaped_path(cli->arena, kind, path, ""));
}

/* ---- volumes ---- */

static const char *holders_of(struct arena *a, const struct json_value *volume)
{
	const struct json_value *list = json_get(volume, "attachments");
	const char *text = NULL;

	for (size_t i = 0; i < json_count(list); i++) {
		const struct json_value *mount = json_item_at(list, i);

		text = arena_format(a, "%s%s%s:%s%s", text ? text : "", text ? " " : "",
		                    json_text(json_get(mount, "sandbox"), ""),
		                    json_text(json_get(mount, "path"), ""),
		                    json_bool(json_get(mount, "read_only"), false) ? ":ro" : "");
	}
	return text;
}

static const char *size_cell(struct arena *a, const struct json_value *size_mb)
{
	return text_out_bytes(a, json_number(size_mb, 0) * 1024 * 1024);
}

static const struct listing_column columns[] = {
        {"NAME", "name", NULL},
        {"STATE", "state", NULL},
        {"SIZE", "size_mb", size_cell},
        {"ATTACHED TO", NULL, holders_of},
        {0},
};

static int volume_ls(struct cli *cli)
{
	return listing_run(cli, VOLUMES, columns);
}

static int volume_create(struct cli *cli)
{
	struct server_call call = {.method = "POST", .path = VOLUMES};
	const char *name = cli->args.words[0];
	const struct json_value *volume;
	int64_t size_mb = 0;

	if (arguments_size_mb(&cli->args, "size", &size_mb, cli->err) < 0)
		return -1;
	call.body = size_mb > 0 ? arena_format(cli->arena, "{\"name\":%s,\"size_mb\":%lld}",
	                                       json_quoted(cli->arena, name), (long long)size_mb)
	                        : arena_format(cli->arena, "{\"name\":%s}",
	                                       json_quoted(cli->arena, name));
	if (cli_connect(cli) < 0 || server_call(cli, &call, &volume) < 0)
		return -1;
	if (cli->json)
		print_json(volume);
	else
		(void)printf("%s\n", json_text(json_get(volume, "id"), ""));
	return 0;
}

static int volume_grow(struct cli *cli)
{
	struct server_call call = {.method = "PATCH",
	                           .path = volume_path(cli, cli->args.words[0], "")};
	const struct json_value *volume;
	int64_t size_mb = 0;

	if (arguments_size_mb(&cli->args, "size", &size_mb, cli->err) < 0)
		return -1;
	if (size_mb == 0)
		return FAIL(cli->err, ERROR_INVALID, "--size is needed");
	call.body = arena_format(cli->arena, "{\"size_mb\":%lld}", (long long)size_mb);
	if (cli_connect(cli) < 0 || server_call(cli, &call, &volume) < 0)
		return -1;
	if (cli->json)
		print_json(volume);
	return 0;
}

static int volume_inspect(struct cli *cli)
{
	const struct json_value *volume;

	if (cli_connect(cli) < 0 ||
	    server_get(cli, volume_path(cli, cli->args.words[0], ""), &volume) < 0)
		return -1;
	print_json(volume);
	return 0;
}

static int volume_rm(struct cli *cli)
{
	return server_delete_each(cli, VOLUMES "/", "volume");
}

/* ---- of a sandbox ---- */

static int volume_attach(struct cli *cli)
{
	const char *path = arguments_text(&cli->args, "path", NULL);
	struct server_call call = {
	        .method = "POST",
	        .path = instance_path(cli->arena, cli->args.words[0], "/volume"),
	};
	const struct json_value *answer;

	call.body =
	        arena_format(cli->arena, "{\"volume\":%s%s%s,\"read_only\":%s}",
	                     json_quoted(cli->arena, cli->args.words[1]), path ? ",\"path\":" : "",
	                     path ? json_quoted(cli->arena, path) : "",
	                     arguments_has(&cli->args, "read-only") ? "true" : "false");
	if (cli_connect(cli) < 0 || server_call(cli, &call, &answer) < 0)
		return -1;
	if (cli->json)
		print_json(answer);
	return 0;
}

static int volume_detach(struct cli *cli)
{
	const char *volume = cli->args.count > 1 ? cli->args.words[1] : NULL;
	bool force = arguments_has(&cli->args, "force");
	const char *query = force ? "?force=true" : "";
	const char *suffix = volume ? escaped_path(cli->arena, "/volume?volume=", volume,
	                                           force ? "&force=true" : "")
	                            : arena_format(cli->arena, "/volume%s", query);
	struct server_call call = {
	        .method = "DELETE",
	        .path = instance_path(cli->arena, cli->args.words[0], suffix),
	};
	const struct json_value *answer;

	if (cli_connect(cli) < 0 || server_call(cli, &call, &answer) < 0)
		return -1;
	if (cli->json)
		print_json(answer);
	return 0;
}

/* ---- files ---- */

static const char *owner_cell(struct arena *a, const struct json_value *entry)
{
	return arena_format(a, "%lld:%lld", (long long)json_whole(json_get(entry, "uid"), 0),
	                    (long long)json_whole(json_get(entry, "gid"), 0));
}

static const char *bytes_cell(struct arena *a, const struct json_value *size)
{
	return text_out_bytes(a, json_number(size, 0));
}

static const char *path_cell(struct arena *a, const struct json_value *entry)
{
	const char *link = json_text(json_get(entry, "link"), NULL);
	const char *path = json_text(json_get(entry, "path"), "");

	return link ? arena_format(a, "%s -> %s", path, link) : path;
}

static const struct listing_column file_columns[] = {
        {"MODE", "mode", NULL},
        {"OWNER", NULL, owner_cell},
        {"SIZE", "size", bytes_cell},
        {"PATH", NULL, path_cell},
        {0},
};

static int volume_files(struct cli *cli)
{
	const char *folder = cli->args.count > 1 ? cli->args.words[1] : "";

	return listing_run(cli, file_path(cli, cli->args.words[0], "/files?path=", folder),
	                   file_columns);
}

static int volume_put(struct cli *cli)
{
	const char *local = cli->args.words[0], *volume = cli->args.words[1];
	const char *remote = cli->args.words[2];
	struct stat status;

	if (stat(local, &status) < 0)
		return FAIL_ERRNO(cli->err, "open '%s'", local);
	if (cli_connect(cli) < 0)
		return -1;
	if (S_ISDIR(status.st_mode))
		return transfer_send(cli, "POST",
		                     file_path(cli, volume, "/files/tar?path=", remote), local);
	return transfer_send(cli, "PUT", file_path(cli, volume, "/files/content?path=", remote),
	                     local);
}

static int volume_get(struct cli *cli)
{
	const char *volume = cli->args.words[0], *remote = cli->args.words[1];
	const char *local = cli->args.words[2];
	const struct json_value *entry;
	bool is_folder;

	if (cli_connect(cli) < 0 ||
	    server_get(cli, file_path(cli, volume, "/files/stat?path=", remote), &entry) < 0)
		return -1;
	is_folder = strcmp(json_text(json_get(entry, "type"), ""), "directory") == 0;
	return transfer_receive(
	        cli,
	        file_path(cli, volume,
	                  is_folder ? "/files/tar?path=" : "/files/content?path=", remote),
	        is_folder, local);
}

/* ---- rows ---- */

static const struct command_option create_options[] = {
        {.name = "size",
         .value = "SIZE",
         .about = "size limit in MiB, or such as 2g (default: no limit)"},
        {0},
};
static const struct command_option grow_options[] = {
        {.name = "size", .value = "SIZE", .about = "MiB, or 2g"},
        {0},
};
static const struct command_option detach_options[] = {
        {.name = "force", .about = "even if a process in the sandbox uses it"},
        {0},
};
static const struct command_option attach_options[] = {
        {.name = "path",
         .value = "PATH",
         .about = "mount point inside the sandbox (default /workspace)"},
        {.name = "read-only", .about = "attach read-only; any number of sandboxes may do so"},
        {0},
};

static const struct cli_command list = {
        .name = "ls",
        .usage = "",
        .about = "list volumes and the sandboxes that use them",
        .run = volume_ls,
};
static const struct cli_command create = {
        .name = "create",
        .usage = "[--size SIZE] NAME",
        .about = "make a volume and print its id",
        .options = create_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = volume_create,
};
static const struct cli_command grow = {
        .name = "grow",
        .usage = "--size SIZE VOLUME",
        .about = "raise the size limit of a volume that has one",
        .options = grow_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = volume_grow,
};
static const struct cli_command inspect = {
        .name = "inspect",
        .usage = "VOLUME",
        .about = "show everything about a volume, as JSON",
        .arguments_min = 1,
        .arguments_max = 1,
        .run = volume_inspect,
};
static const struct cli_command remove_it = {
        .name = "rm",
        .usage = "VOLUME...",
        .about = "delete volumes that no sandbox uses, and their files",
        .arguments_min = 1,
        .arguments_max = ANY_NUMBER,
        .run = volume_rm,
};
static const struct cli_command attach = {
        .name = "attach",
        .usage = "[--path PATH] [--read-only] SANDBOX VOLUME",
        .about = "attach a volume to a running or stopped sandbox",
        .options = attach_options,
        .arguments_min = 2,
        .arguments_max = 2,
        .completion = COMPLETE_SANDBOX,
        .run = volume_attach,
};
static const struct cli_command detach = {
        .name = "detach",
        .usage = "[--force] SANDBOX [VOLUME]",
        .about = "detach a volume from a sandbox",
        .options = detach_options,
        .more = "VOLUME is a name, an id or a path inside the sandbox; optional if there is only "
                "one.",
        .arguments_min = 1,
        .arguments_max = 2,
        .completion = COMPLETE_SANDBOX,
        .run = volume_detach,
};
static const struct cli_command files = {
        .name = "files",
        .usage = "VOLUME [FOLDER]",
        .about = "list a folder of a volume that no running sandbox writes to",
        .arguments_min = 1,
        .arguments_max = 2,
        .run = volume_files,
};
static const struct cli_command put = {
        .name = "put",
        .usage = "FILE VOLUME PATH",
        .about = "copy a file or a folder's contents into a volume that no running sandbox writes "
                 "to",
        .arguments_min = 3,
        .arguments_max = 3,
        .completion = COMPLETE_FILE,
        .run = volume_put,
};
static const struct cli_command get = {
        .name = "get",
        .usage = "VOLUME PATH FILE",
        .about = "copy a file or a folder's contents from a volume that no running sandbox writes "
                 "to",
        .arguments_min = 3,
        .arguments_max = 3,
        .completion = COMPLETE_FILE,
        .run = volume_get,
};
static const struct cli_command *const children[] = {
        &list, &create, &grow, &inspect, &attach, &detach, &files, &put, &get, &remove_it, NULL};

const struct cli_command command_volume = {
        .name = "volume",
        .usage = "COMMAND",
        .about = "list, make, attach, fill and delete storage that outlives sandboxes",
        .children = children,
};
