/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/core/body.h"
#include "cli/sandbox/commands.h"
#include "cli/core/listing.h"
#include "cli/core/run_options.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "json/write.h"

#define FOLLOW_EVERY_MS 250

static const struct listing_column columns[] = {
        {"NAME", "name", NULL},         {"STATE", "state", NULL},     {"PID", "pid", NULL},
        {"RESTARTS", "restarts", NULL}, {"EXIT", "exit_code", NULL},  {"RESTART", "restart", NULL},
        {"ERROR", "error", NULL},       {"COMMAND", "command", NULL}, {0},
};

static const char *service_path(struct cli *cli, const char *suffix)
{
	const char *prefix = instance_path(cli->arena, cli->args.words[0], "/services/");

	return escaped_path(cli->arena, prefix, cli->args.words[1], suffix);
}

static void print_service(struct cli *cli, const struct json_value *service)
{
	const char *why = json_get_text(service, "error", "");

	(void)printf("%s%s%s\n", json_get_text(service, "state", ""), *why ? ": " : "",
	             text_out_safe(cli->arena, why));
}

static int add_env(struct cli *cli, struct buf *body)
{
	const char *env;

	if (session_env_json(cli->arena, arguments_list(cli, "env"), &env, cli->err) < 0)
		return -1;
	json_add_raw(body, "env", span_of(env));
	return 0;
}

static int add_command(struct cli *cli, struct buf *body)
{
	const struct cli_arguments *args = &cli->args;

	if (!args->inner || !args->inner[0])
		return FAIL(cli->err, ERROR_INVALID, "no command is given after '--'");
	/* A single word is a shell line, as with ssh. */
	body_add_text(body, args->inner[1] ? "cmd" : "command", args->inner[0]);
	body_add_texts(body, "args", args->inner + 1);
	return add_env(cli, body);
}

static void print_stream(const struct json_value *log, const char *name, FILE *out)
{
	const char *text = json_get_text(log, name, "");

	(void)fwrite(text, 1, strlen(text), out);
	(void)fflush(out);
}

/* Uses an arena per round, because following may last for days. */
static int follow_once(struct cli *cli, int64_t next[2])
{
	struct arena scratch = {0}, *own = cli->arena;
	const struct json_value *log;
	int result;

	cli->arena = &scratch;
	result = server_get(
	        cli,
	        service_path(cli,
	                     arena_format(&scratch, "/logs?since_stdout=%lld&since_stderr=%lld",
	                                  (long long)next[0], (long long)next[1])),
	        &log);
	if (result == 0) {
		print_stream(log, "stdout", stdout);
		print_stream(log, "stderr", stderr);
		next[0] = json_get_whole(log, "stdout_next", next[0]);
		next[1] = json_get_whole(log, "stderr_next", next[1]);
	}
	cli->arena = own;
	arena_done(&scratch);
	return result;
}

static int follow_log(struct cli *cli, const struct json_value *log)
{
	const struct timespec pause = {.tv_nsec = FOLLOW_EVERY_MS * 1000000L};
	int64_t next[2] = {json_get_whole(log, "stdout_next", 0),
	                   json_get_whole(log, "stderr_next", 0)};

	for (;;) {
		(void)nanosleep(&pause, NULL);
		if (follow_once(cli, next) < 0)
			return -1;
	}
}

static int service_logs(struct cli *cli)
{
	const struct json_value *log;
	int64_t tail = 65536;
	const char *query;

	if (arguments_whole(&cli->args, "tail", 1, &tail, cli->err) < 0)
		return -1;
	query = arena_format(cli->arena, "/logs?tail=%lld", (long long)tail);
	if (cli_connect(cli) < 0 || server_get(cli, service_path(cli, query), &log) < 0)
		return -1;
	if (cli->json) {
		print_json(log);
		return 0;
	}
	print_stream(log, "stdout", stdout);
	print_stream(log, "stderr", stderr);
	return arguments_has(&cli->args, "follow") ? follow_log(cli, log) : 0;
}

static const struct command_option create_options[] = {
        OPTION_ENV,
        OPTION_WORKDIR,
        OPTION_USER,
        {"restart", "WHEN", "always (default), on-failure or no"},
        {"restart-limit", "COUNT",
         "quick ends in a row after which it has failed (default: no limit)"},
        {"restart-delay", "TIME",
         "pause before the first restart, doubled up to 1m (default 500ms)",
         .member = "restart_delay_ms"},
        {"stop-timeout", "TIME", "time from SIGTERM to SIGKILL (default 5s)",
         .member = "stop_timeout_ms"},
        {"keep-awake", NULL, "the running service keeps the sandbox from being idle"},
        {0},
};
static const struct command_option logs_options[] = {
        {"follow", NULL, "follow the output until interrupted", .letter = 'f'},
        {"tail", "BYTES", "bytes of each stream (default 65536)"},
        {0},
};

static const struct cli_command children[] = {
        {"create", "[OPTION...] SANDBOX SERVICE -- COMMAND [ARG...]",
         "make or change a service and run it",
         .more = "A COMMAND without arguments is a shell line.", .options = create_options,
         .arguments_min = 2, .arguments_max = 2, .own_arguments = 2, .has_inner_command = true,
         .completion = COMPLETE_SANDBOX,
         .operation = "PUT /api/sandbox/instances/{id}/services/{service}", .fill = add_command,
         .print = print_service},
        {"ls", "SANDBOX", "list the services of a sandbox", .completion = COMPLETE_SANDBOX,
         .operation = "GET /api/sandbox/instances/{id}/services", .columns = columns},
        {"logs", "[OPTION...] SANDBOX SERVICE", "show the end of a service's output",
         .options = logs_options, .arguments_min = 2, .arguments_max = 2,
         .completion = COMPLETE_SANDBOX, .run = service_logs},
        {"start", "SANDBOX SERVICE", "start a stopped or ended service",
         .operation = "POST /api/sandbox/instances/{id}/services/{service}/start",
         .completion = COMPLETE_SANDBOX, .print = print_service},
        {"restart", "SANDBOX SERVICE", "end a service and start it again",
         .operation = "POST /api/sandbox/instances/{id}/services/{service}/restart",
         .completion = COMPLETE_SANDBOX, .print = print_service},
        {"stop", "SANDBOX SERVICE", "stop a service; it is not restarted",
         .operation = "POST /api/sandbox/instances/{id}/services/{service}/stop",
         .completion = COMPLETE_SANDBOX, .print = print_service},
        {"rm", "SANDBOX SERVICE", "end and delete a service",
         .operation = "DELETE /api/sandbox/instances/{id}/services/{service}",
         .completion = COMPLETE_SANDBOX},
        {0},
};

const struct cli_command command_service = {
        .name = "service",
        .usage = "COMMAND",
        .about = "manage services: commands that a sandbox keeps running",
        .children = children,
};
