/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/tool/commands.h"
#include "cli/core/listing.h"
#include "cli/core/server.h"
#include "cli/files/transfer.h"

#define ARTIFACTS "/api/sandbox/artifacts"

static const struct listing_column columns[] = {
        {"ARTIFACT", "id", NULL},          {"NAME", "name", NULL},
        {"SIZE", "size", listing_bytes},   {"TYPE", "media_type", NULL},
        {"SANDBOX", "sandbox_name", NULL}, {"CREATED", "created_at", NULL},
        {"EXPIRES", "expires_at", NULL},   {0},
};

static int on_piece(UNUSED void *context, struct span piece, struct error *err)
{
	return fd_write_all(STDOUT_FILENO, piece.data, piece.size, err);
}

/* The sandbox chose the artifact's name, so it must not name a local file. */
static int get_to_stdout(struct cli *cli, const char *path)
{
	const struct http_call call = {.method = "GET", .path = path};
	struct server_stream stream = {on_piece, NULL};

	if (isatty(STDOUT_FILENO)) {
		(void)FAIL(cli->err, ERROR_INVALID, "an artifact is not written to a terminal");
		return FAIL_HINT(cli->err, "name a file, or redirect the output");
	}
	return cli_connect(cli) < 0 ? -1 : server_stream(cli, &call, &stream);
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

static const struct command_option ls_options[] = {
        {"sandbox", "SANDBOX", "only artifacts of this sandbox; a deleted one by its id",
         .letter = 's', .completion = COMPLETE_SANDBOX},
        {"run", "RUN", "only artifacts of this run"},
        {0},
};
static const struct command_option keep_options[] = {
        {"for", "TIME", "lifetime, such as 24h or 7d (default: the project's)",
         .member = "keep_seconds"},
        {0},
};
static const struct cli_command children[] = {
        {"ls", "[OPTION...]", "list artifacts", .options = ls_options,
         .operation = "GET /api/sandbox/artifacts?limit=1000", .columns = columns},
        {"keep", "[--for TIME] SANDBOX PATH",
         "save a file of a sandbox as an artifact and print its id", .options = keep_options,
         .completion = COMPLETE_SANDBOX, .operation = "POST /api/sandbox/instances/{id}/artifacts",
         .word = "path", .prints = "id"},
        {"get", "ARTIFACT [FILE]", "write an artifact to a file or to stdout", .arguments_min = 1,
         .arguments_max = 2, .completion = COMPLETE_FILE, .run = artifact_get},
        {"rm", "ARTIFACT...", "remove artifacts", .operation = "DELETE /api/sandbox/artifacts/{id}",
         .arguments_min = 1, .arguments_max = ANY_NUMBER, .removes = "artifact"},
        {0},
};

const struct cli_command command_artifact = {
        .name = "artifact",
        .usage = "COMMAND",
        .about = "manage artifacts: saved files that outlive their sandbox",
        .children = children,
};
