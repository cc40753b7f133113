/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/sandbox/commands.h"
#include "cli/core/listing.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
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

static const char *holders_of(struct arena *a, const struct json_value *volume)
{
	const struct json_value *list = json_get(volume, "attachments");
	const char *text = NULL;

	for (size_t i = 0; i < json_count(list); i++) {
		const struct json_value *mount = json_item_at(list, i);

		text = arena_format(a, "%s%s%s:%s%s", text ? text : "", text ? " " : "",
		                    json_get_text(mount, "sandbox", ""),
		                    json_get_text(mount, "path", ""),
		                    json_get_bool(mount, "read_only", false) ? ":ro" : "");
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

static const char *owner_cell(struct arena *a, const struct json_value *entry)
{
	return arena_format(a, "%lld:%lld", (long long)json_get_whole(entry, "uid", 0),
	                    (long long)json_get_whole(entry, "gid", 0));
}

static const char *bytes_cell(struct arena *a, const struct json_value *size)
{
	return text_out_bytes(a, json_number(size, 0));
}

static const char *path_cell(struct arena *a, const struct json_value *entry)
{
	const char *link = json_get_text(entry, "link", NULL);
	const char *path = json_get_text(entry, "path", "");

	return link ? arena_format(a, "%s -> %s", path, link) : path;
}

static const struct listing_column file_columns[] = {
        {"MODE", "mode", NULL},
        {"OWNER", NULL, owner_cell},
        {"SIZE", "size", bytes_cell},
        {"PATH", NULL, path_cell},
        {0},
};

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
	is_folder = strcmp(json_get_text(entry, "type", ""), "directory") == 0;
	return transfer_receive(
	        cli,
	        file_path(cli, volume,
	                  is_folder ? "/files/tar?path=" : "/files/content?path=", remote),
	        is_folder, local);
}

static const struct command_option create_options[] = {
        {"size", "SIZE", "size limit in MiB, or such as 2g (default: no limit)",
         .member = "size_mb"},
        {0},
};
static const struct command_option grow_options[] = {
        {"size", "SIZE", "MiB, or 2g", .member = "size_mb"},
        {0},
};
static const struct command_option detach_options[] = {
        {"force", NULL, "even if a process in the sandbox uses it"},
        {0},
};
static const struct command_option attach_options[] = {
        {"path", "PATH", "mount point inside the sandbox (default /workspace)"},
        {"read-only", NULL, "attach read-only; any number of sandboxes may do so"},
        {0},
};

static const struct cli_command children[] = {
        {"ls", "", "list volumes and the sandboxes that use them",
         .operation = "GET /api/sandbox/volumes", .columns = columns},
        {"create", "[--size SIZE] NAME", "make a volume and print its id",
         .options = create_options, .operation = "POST /api/sandbox/volumes", .word = "name",
         .prints = "id"},
        {"grow", "--size SIZE VOLUME", "raise the size limit of a volume that has one",
         .options = grow_options, .operation = "PATCH /api/sandbox/volumes/{volume}"},
        {"inspect", "VOLUME", "show everything about a volume, as JSON",
         .operation = "GET /api/sandbox/volumes/{volume}", .prints = "*"},
        {"attach", "[--path PATH] [--read-only] SANDBOX VOLUME",
         "attach a volume to a running or stopped sandbox", .options = attach_options,
         .completion = COMPLETE_SANDBOX, .operation = "POST /api/sandbox/instances/{id}/volume",
         .word = "volume"},
        {"detach", "[--force] SANDBOX [VOLUME]", "detach a volume from a sandbox",
         .options = detach_options,
         .more = "VOLUME is a name, an id or a path inside the sandbox; optional if there is only "
                 "one.",
         .arguments_min = 1, .arguments_max = 2, .completion = COMPLETE_SANDBOX,
         .operation = "DELETE /api/sandbox/instances/{id}/volume", .word = "volume"},
        {"files", "VOLUME [FOLDER]", "list a folder of a volume that no running sandbox writes to",
         .arguments_min = 1, .arguments_max = 2,
         .operation = "GET /api/sandbox/volumes/{volume}/files", .word = "path",
         .columns = file_columns},
        {"put", "FILE VOLUME PATH",
         "copy a file or a folder's contents into a volume that no running sandbox writes to",
         .arguments_min = 3, .arguments_max = 3, .completion = COMPLETE_FILE, .run = volume_put},
        {"get", "VOLUME PATH FILE",
         "copy a file or a folder's contents from a volume that no running sandbox writes to",
         .arguments_min = 3, .arguments_max = 3, .completion = COMPLETE_FILE, .run = volume_get},
        {"rm", "VOLUME...", "delete volumes that no sandbox uses, and their files",
         .operation = "DELETE /api/sandbox/volumes/{volume}", .arguments_min = 1,
         .arguments_max = ANY_NUMBER, .removes = "volume"},
        {0},
};

const struct cli_command command_volume = {
        .name = "volume",
        .usage = "COMMAND",
        .about = "list, make, attach, fill and delete storage that outlives sandboxes",
        .children = children,
};
