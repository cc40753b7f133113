/* SPDX-License-Identifier: Apache-2.0 */
/* atoll snapshot export, import, backups. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/id.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "cli/server.h"
#include "cli/text_out.h"
#include "cli/files/transfer.h"

#define SNAPSHOTS "/api/sandbox/snapshots"
#define BACKUPS "/api/sandbox/backups"
#define LOOK_MS 250

static const char *text_of(const struct json_value *object, const char *name)
{
	return json_text(json_get(object, name), "");
}

/* {"full":true,"backup":"…","name":"…","template":"…"}, without the members that are not set. */
static const char *body_of(struct cli *cli, const char *backup)
{
	const char *const rows[][2] = {{"backup", backup},
	                               {"name", arguments_text(&cli->args, "name", NULL)},
	                               {"template", arguments_text(&cli->args, "template", NULL)}};
	const char *body = "";

	if (arguments_has(&cli->args, "full"))
		body = "\"full\":true";
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i][1])
			body = arena_format(cli->arena, "%s%s\"%s\":%s", body, *body ? "," : "",
			                    rows[i][0], json_quoted(cli->arena, rows[i][1]));
	return arena_format(cli->arena, "{%s}", body);
}

/* ---- export ---- */

static int wait_ready(struct cli *cli, const char *id, const struct json_value **ret)
{
	const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
	const char *path = escaped_path(cli->arena, BACKUPS "/", id, ""), *state;
	struct progress_line progress = {.is_open = false};

	do {
		if (server_get(cli, path, ret) < 0)
			return -1;
		state = text_of(*ret, "state");
		if (strcmp(state, "making") == 0) {
			progress_show_passing(&progress, cli->arena, text_of(*ret, "state_text"));
			(void)nanosleep(&pause, NULL);
		}
	} while (strcmp(state, "making") == 0);
	progress_end(&progress);
	if (strcmp(state, "ready") == 0)
		return 0;
	return FAIL(cli->err, ERROR_SYSTEM, "the backup is %s: %s", state,
	            text_of(*ret, "state_text"));
}

static int export_snapshot(struct cli *cli)
{
	const char *snapshot = cli->args.words[0];
	const char *file = cli->args.count > 1 ? cli->args.words[1] : NULL;
	const struct server_call call = {
	        .method = "POST",
	        .path = escaped_path(cli->arena, SNAPSHOTS "/", snapshot, "/export"),
	        .body = body_of(cli, NULL),
	};
	const struct json_value *backup;
	const char *id;

	if (cli_connect(cli) < 0 || server_call(cli, &call, &backup) < 0)
		return -1;
	id = text_of(backup, "id");
	if (wait_ready(cli, id, &backup) < 0)
		return -1;
	if (file && transfer_receive(cli, escaped_path(cli->arena, BACKUPS "/", id, "/content"),
	                             false, file) < 0)
		return -1;
	if (cli->json)
		print_json(backup);
	else
		(void)printf("%s: %s in %lld files of snapshot %s, sha256 %s\n",
		             text_out_safe(cli->arena, text_of(backup, "name")),
		             text_out_bytes(cli->arena, json_number(json_get(backup, "size"), 0)),
		             (long long)json_whole(json_get(backup, "files"), 0),
		             text_out_safe(cli->arena, snapshot), text_of(backup, "sha256"));
	return 0;
}

/* ---- import ---- */

static int import_backup(struct cli *cli, const char *backup)
{
	const struct server_call call = {
	        .method = "POST", .path = SNAPSHOTS "/import", .body = body_of(cli, backup)};
	const struct json_value *snapshot;

	if (server_call(cli, &call, &snapshot) < 0)
		return -1;
	if (cli->json)
		print_json(snapshot);
	else
		(void)printf("%s\n", text_out_safe(cli->arena, text_of(snapshot, "name")));
	return 0;
}

/* Uploads the file under a new name and deletes that backup after the import. */
static int import_file(struct cli *cli, const char *file)
{
	struct id id = id_new();
	const char *path = escaped_path(cli->arena, BACKUPS "/", id.text, "");
	const struct server_call removal = {.method = "DELETE", .path = path};
	struct error failure = {0}, *told = cli->err;
	int status;

	if (transfer_send(cli, "PUT", path, file) < 0)
		return -1;
	status = import_backup(cli, id.text);
	cli->err = &failure;
	if (server_call(cli, &removal, NULL) < 0)
		(void)fprintf(stderr, "the backup '%s' was not deleted: %s\n", id.text,
		              failure.text);
	cli->err = told;
	return status;
}

static int import_snapshot(struct cli *cli)
{
	const char *what = cli->args.words[0];

	if (cli_connect(cli) < 0)
		return -1;
	if (access(what, F_OK) == 0)
		return import_file(cli, what);
	if (strchr(what, '/'))
		return FAIL_ERRNO(cli->err, "open '%s'", what);
	return import_backup(cli, what);
}

/* ---- the list ---- */

static const struct listing_column columns[] = {
        {"NAME", "name", NULL},
        {"SNAPSHOT", "snapshot_name", NULL},
        {"TEMPLATE", "template", NULL},
        {"STATE", "state", NULL},
        {"SIZE", "size", listing_bytes},
        {"CREATED", "created_at", NULL},
        {0},
};

static int list_backups(struct cli *cli)
{
	return listing_run(cli, BACKUPS, columns);
}

static int remove_backup(struct cli *cli)
{
	return server_delete_each(cli, BACKUPS "/", "backup");
}

/* ---- rows ---- */

static const struct command_option export_options[] = {
        {.name = "name",
         .letter = 'n',
         .value = "NAME",
         .about = "name of the backup (default: its id)"},
        {.name = "full", .about = "include the template, so that any server can import it"},
        {0},
};
static const struct command_option import_options[] = {
        {.name = "name",
         .letter = 'n',
         .value = "NAME",
         .about = "name of the snapshot (default: its id)"},
        {.name = "template",
         .value = "TEMPLATE",
         .about = "a template with the same files, if its name differs here"},
        {0},
};

const struct cli_command command_snapshot_export = {
        .name = "export",
        .usage = "[--name NAME] [--full] SNAPSHOT [FILE]",
        .about = "save a snapshot to the blob store, and to FILE if given",
        .options = export_options,
        .arguments_min = 1,
        .arguments_max = 2,
        .run = export_snapshot,
};
const struct cli_command command_snapshot_import = {
        .name = "import",
        .usage = "[--name NAME] [--template TEMPLATE] FILE|BACKUP",
        .about = "make a snapshot from a file or from a backup in the blob store",
        .options = import_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = import_snapshot,
};
const struct cli_command command_snapshot_backups = {
        .name = "backups",
        .usage = "",
        .about = "list the backups in the blob store, newest first",
        .run = list_backups,
};
const struct cli_command command_snapshot_forget = {
        .name = "forget",
        .usage = "BACKUP...",
        .about = "remove backups from the blob store",
        .arguments_min = 1,
        .arguments_max = ANY_NUMBER,
        .run = remove_backup,
};
