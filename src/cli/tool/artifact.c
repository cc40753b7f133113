/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/server.h"
#include "cli/text_out.h"
#include "cli/files/transfer.h"

#define ARTIFACTS "/api/sandbox/artifacts"

/* ---- ls ---- */

static const struct listing_column columns[] = {
        {"ARTIFACT", "id", NULL},          {"NAME", "name", NULL},
        {"SIZE", "size", listing_bytes},   {"TYPE", "media_type", NULL},
        {"SANDBOX", "sandbox_name", NULL}, {"CREATED", "created_at", NULL},
        {"EXPIRES", "expires_at", NULL},   {0},
};

static const char *with_filter(struct cli *cli, const char *path, const char *name)
{
	const char *value = arguments_text(&cli->args, name, NULL);

	return value ? escaped_path(cli->arena, arena_format(cli->arena, "%s&%s=", path, name),
	                            value, "")
	             : path;
}

static int artifact_ls(struct cli *cli)
{
	const char *path = with_filter(cli, ARTIFACTS "?limit=1000", "sandbox");

	return listing_run(cli, with_filter(cli, path, "run"), columns);
}

/* ---- keep ---- */

static int artifact_keep(struct cli *cli)
{
	struct server_call call = {.method = "POST"};
	const struct json_value *kept;
	int64_t keep_ms = 0;

	if (arguments_duration(&cli->args, "for", &keep_ms, cli->err) < 0 || cli_connect(cli) < 0)
		return -1;
	call.path = instance_path(cli->arena, cli->args.words[0], "/artifacts");
	call.body = arena_format(cli->arena, "{\"path\":%s,\"keep_seconds\":%lld}",
	                         json_quoted(cli->arena, cli->args.words[1]),
	                         (long long)(keep_ms + 999) / 1000);
	if (server_call(cli, &call, &kept) < 0)
		return -1;
	if (cli->json)
		print_json(kept);
	else
		(void)printf("%s\n",
		             text_out_safe(cli->arena, json_text(json_get(kept, "id"), "")));
	return 0;
}

/* ---- get ---- */

static bool on_body(void *context, struct span piece)
{
	struct cli *cli = context;

	return fd_write_all(STDOUT_FILENO, piece.data, piece.size, cli->err) == 0;
}

/* The sandbox chose the artifact's name, so it must not name a local file. */
static int get_to_stdout(struct cli *cli, const char *path)
{
	const struct http_call call = {
	        .method = "GET", .path = path, .on_body = on_body, .context = cli};
	struct http_answer answer = {0};

	if (isatty(STDOUT_FILENO)) {
		(void)FAIL(cli->err, ERROR_INVALID, "an artifact is not written to a terminal");
		error_hint(cli->err, "name a file, or redirect the output");
		return -1;
	}
	error_clear(cli->err);
	if (cli_connect(cli) < 0 || http_client_call(cli->client, &call, &answer, cli->err) < 0)
		return -1;
	buf_done(&answer.body);
	return cli->err->code ? -1 : 0;
}

static int artifact_get(struct cli *cli)
{
	const char *path = escaped_path(cli->arena, ARTIFACTS "/", cli->args.words[0], "/content");

	if (cli->args.count == 1)
		return get_to_stdout(cli, path);
	if (cli_connect(cli) < 0)
		return -1;
	return transfer_receive(cli, path, false, cli->args.words[1]);
}

static int artifact_rm(struct cli *cli)
{
	return server_delete_each(cli, ARTIFACTS "/", "artifact");
}

/* ---- the table ---- */

static const struct command_option ls_options[] = {
        {.name = "sandbox",
         .letter = 's',
         .value = "SANDBOX",
         .about = "only artifacts of this sandbox; a deleted one by its id",
         .completion = COMPLETE_SANDBOX},
        {.name = "run", .value = "RUN", .about = "only artifacts of this run"},
        {0},
};
static const struct command_option keep_options[] = {
        {.name = "for",
         .value = "TIME",
         .about = "lifetime, such as 24h or 7d (default: the project's)"},
        {0},
};
static const struct cli_command list = {
        .name = "ls",
        .usage = "[OPTION...]",
        .about = "list artifacts",
        .options = ls_options,
        .run = artifact_ls,
};
static const struct cli_command keep = {
        .name = "keep",
        .usage = "[--for TIME] SANDBOX PATH",
        .about = "save a file of a sandbox as an artifact and print its id",
        .options = keep_options,
        .arguments_min = 2,
        .arguments_max = 2,
        .completion = COMPLETE_SANDBOX,
        .run = artifact_keep,
};
static const struct cli_command get = {
        .name = "get",
        .usage = "ARTIFACT [FILE]",
        .about = "write an artifact to a file or to stdout",
        .arguments_min = 1,
        .arguments_max = 2,
        .completion = COMPLETE_FILE,
        .run = artifact_get,
};
static const struct cli_command rm = {
        .name = "rm",
        .usage = "ARTIFACT...",
        .about = "remove artifacts",
        .arguments_min = 1,
        .arguments_max = ANY_NUMBER,
        .run = artifact_rm,
};
static const struct cli_command *const children[] = {&list, &keep, &get, &rm, NULL};

const struct cli_command command_artifact = {
        .name = "artifact",
        .usage = "COMMAND",
        .about = "manage artifacts: saved files that outlive their sandbox",
        .children = children,
};
