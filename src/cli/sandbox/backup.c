/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox/backup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/id.h"
#include "cli/core/listing.h"
#include "cli/core/progress.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "cli/files/transfer.h"
#include "cli/core/plain.h"

#define BACKUPS "/api/sandbox/backups"
#define LOOK_MS 250

static int wait_ready(struct cli *cli, const char *id, const struct json_value **ret)
{
	const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
	const char *path = escaped_path(cli->arena, BACKUPS "/", id, ""), *state;
	struct progress_line progress = {.is_open = false};

	do {
		if (server_get(cli, path, ret) < 0)
			return -1;
		state = json_get_text(*ret, "state", "");
		if (strcmp(state, "making") == 0) {
			progress_show_passing(&progress, cli->arena,
			                      json_get_text(*ret, "state_text", ""));
			(void)nanosleep(&pause, NULL);
		}
	} while (strcmp(state, "making") == 0);
	progress_end(&progress);
	if (strcmp(state, "ready") == 0)
		return 0;
	return FAIL(cli->err, ERROR_SYSTEM, "the backup is %s: %s", state,
	            json_get_text(*ret, "state_text", ""));
}

int snapshot_export(struct cli *cli)
{
	const char *snapshot = cli->args.words[0];
	const char *file = cli->args.count > 1 ? cli->args.words[1] : NULL;
	const struct json_value *backup;
	const char *id;

	if (plain_call(cli, &backup) < 0)
		return -1;
	id = json_get_text(backup, "id", "");
	if (wait_ready(cli, id, &backup) < 0)
		return -1;
	if (file && transfer_receive(cli, escaped_path(cli->arena, BACKUPS "/", id, "/content"),
	                             false, file) < 0)
		return -1;
	if (cli->json)
		print_json(backup);
	else
		(void)printf("%s: %s in %lld files of snapshot %s, sha256 %s\n",
		             text_out_safe(cli->arena, json_get_text(backup, "name", "")),
		             text_out_bytes(cli->arena, json_number(json_get(backup, "size"), 0)),
		             (long long)json_get_whole(backup, "files", 0),
		             text_out_safe(cli->arena, snapshot),
		             json_get_text(backup, "sha256", ""));
	return 0;
}

/* The upload's id takes the place of the file on the command line. */
static int import_backup(struct cli *cli, const char *backup)
{
	cli->args.words[0] = backup;
	return plain_run(cli);
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

int snapshot_import(struct cli *cli)
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

const struct listing_column snapshot_backup_columns[] = {
        {"NAME", "name", NULL},
        {"SNAPSHOT", "snapshot_name", NULL},
        {"TEMPLATE", "template", NULL},
        {"STATE", "state", NULL},
        {"SIZE", "size", listing_bytes},
        {"CREATED", "created_at", NULL},
        {0},
};

const struct command_option snapshot_export_options[] = {
        {"name", "NAME", "name of the backup (default: its id)", .letter = 'n'},
        {"full", NULL, "include the template, so that any server can import it"},
        {0},
};
const struct command_option snapshot_import_options[] = {
        {"name", "NAME", "name of the snapshot (default: its id)", .letter = 'n'},
        {"template", "TEMPLATE", "a template with the same files, if its name differs here"},
        {0},
};
