/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/sandbox/commands.h"
#include "cli/core/server.h"
#include "cli/core/session.h"

struct log_reader {
	struct session_events events;
	struct error failure;
	bool as_json, failed;
};

/* --json passes the events on as they are. */
static bool on_body(void *context, struct span piece)
{
	struct log_reader *r = context;
	int result = r->as_json ? fd_write_all(STDOUT_FILENO, piece.data, piece.size, &r->failure)
	                        : session_events_add(&r->events, piece, &r->failure);

	r->failed = result < 0;
	return result == 0;
}

static int run_logs(struct cli *cli)
{
	const char *process = cli->args.words[1];
	int64_t number = 0;
	struct log_reader *r = ARENA_NEW(cli->arena, struct log_reader);
	struct http_answer answer = {0};
	struct http_call call = {.method = "GET", .on_body = on_body, .context = r};
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
	session_events_init(&r->events);
	r->as_json = cli->json;
	result = http_client_call(cli->client, &call, &answer, cli->err);
	buf_done(&answer.body);
	session_events_done(&r->events);
	if (r->failed)
		*cli->err = r->failure;
	return r->failed ? -1 : result;
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
