/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/sandbox/commands.h"
#include "cli/core/server.h"
#include "cli/core/session.h"

static int on_json(UNUSED void *context, struct span piece, struct error *err)
{
	return fd_write_all(STDOUT_FILENO, piece.data, piece.size, err);
}

static int run_logs(struct cli *cli)
{
	const char *process = cli->args.words[1];
	int64_t number = 0;
	struct session_events events;
	struct server_stream stream = {cli->json ? on_json : session_events_add, &events};
	struct http_call call = {.method = "GET"};
	int result;

	if (process && span_parse_whole(span_of(process), 1, INT64_MAX, &number, cli->err) < 0)
		return FAIL_CONTEXT(cli->err, "process");
	call.path =
	        instance_path(cli->arena, cli->args.words[0],
	                      arena_format(cli->arena, "/logs?stream=ndjson&follow=%s%s%s",
	                                   arguments_has(&cli->args, "follow") ? "true" : "false",
	                                   process ? "&process=" : "", process ? process : ""));
	if (cli_connect(cli) < 0)
		return -1;
	session_events_init(&events);
	result = server_stream(cli, &call, &stream);
	event_lines_done(&events.lines);
	return result;
}

static const struct command_option options[] = {
        {"follow", NULL, "follow the output until the command ends", .letter = 'f'},
        {0},
};

const struct cli_command command_logs = {
        .name = "logs",
        .usage = "[--follow] SANDBOX [PROCESS]",
        .about = "show the output of a command in a sandbox (default: the newest)",
        .options = options,
        .arguments_min = 1,
        .arguments_max = 2,
        .completion = COMPLETE_SANDBOX,
        .run = run_logs,
};
