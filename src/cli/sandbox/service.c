/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/body.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/run_options.h"
#include "cli/server.h"
#include "cli/text_out.h"

#define BODY_MAX (512 * 1024)
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
	const char *why = json_text(json_get(service, "error"), "");

	if (cli->json)
		print_json(service);
	else
		(void)printf("%s%s%s\n", json_text(json_get(service, "state"), ""),
		             *why ? ": " : "", text_out_safe(cli->arena, why));
}

/* ---- create ---- */

static int add_env(struct cli *cli, struct buf *body)
{
	const char *env;

	if (session_env_json(cli->arena, arguments_list(cli, "env"), &env, cli->err) < 0)
		return -1;
	buf_addf(body, ",\"env\":%s", env);
	return 0;
}

static int create_body(struct cli *cli, struct buf *body)
{
	int64_t delay_ms = 0, stop_ms = 0, limit = 0;
	const struct cli_arguments *args = &cli->args;

	if (!args->inner || !args->inner[0])
		return FAIL(cli->err, ERROR_INVALID, "no command is given after '--'");
	if (arguments_duration(args, "restart-delay", &delay_ms, cli->err) < 0 ||
	    arguments_duration(args, "stop-timeout", &stop_ms, cli->err) < 0 ||
	    arguments_whole(args, "restart-limit", 0, &limit, cli->err) < 0)
		return -1;
	body_begin(body);
	/* A single word is a shell line, as with ssh. */
	body_add_text(body, args->inner[1] ? "cmd" : "command", args->inner[0]);
	body_add_texts(body, "args", args->inner + 1);
	body_add_text(body, "cwd", arguments_text(args, "workdir", NULL));
	body_add_text(body, "user", arguments_text(args, "user", NULL));
	body_add_text(body, "restart", arguments_text(args, "restart", NULL));
	body_add_whole(body, "restart_limit", limit);
	body_add_whole(body, "restart_delay_ms", delay_ms);
	body_add_whole(body, "stop_timeout_ms", stop_ms);
	body_add_bool(body, "keep_awake", arguments_has(args, "keep-awake"));
	return add_env(cli, body);
}

static int service_create(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct server_call call = {.method = "PUT"};
	const struct json_value *service;

	if (create_body(cli, &body) < 0)
		return -1;
	call.body = body_end(&body);
	if (body.overflowed)
		return FAIL(cli->err, ERROR_TOO_LARGE, "the command is longer than %d bytes",
		            BODY_MAX);
	if (cli_connect(cli) < 0)
		return -1;
	call.path = service_path(cli, "");
	if (server_call(cli, &call, &service) < 0)
		return -1;
	print_service(cli, service);
	return 0;
}

/* ---- one ---- */

static int post_service(struct cli *cli, const char *suffix)
{
	struct server_call call = {.method = "POST"};
	const struct json_value *service;

	if (cli_connect(cli) < 0)
		return -1;
	call.path = service_path(cli, suffix);
	if (server_call(cli, &call, &service) < 0)
		return -1;
	print_service(cli, service);
	return 0;
}

static int service_start(struct cli *cli)
{
	return post_service(cli, "/start");
}

static int service_stop(struct cli *cli)
{
	return post_service(cli, "/stop");
}

static int service_restart(struct cli *cli)
{
	return post_service(cli, "/restart");
}

static int service_rm(struct cli *cli)
{
	struct server_call call = {.method = "DELETE"};

	if (cli_connect(cli) < 0)
		return -1;
	call.path = service_path(cli, "");
	return server_call(cli, &call, NULL);
}

static int service_ls(struct cli *cli)
{
	return listing_run(cli, instance_path(cli->arena, cli->args.words[0], "/services"),
	                   columns);
}

/* ---- logs ---- */

static void print_stream(const struct json_value *log, const char *name, FILE *out)
{
	const char *text = json_text(json_get(log, name), "");

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
		next[0] = json_whole(json_get(log, "stdout_next"), next[0]);
		next[1] = json_whole(json_get(log, "stderr_next"), next[1]);
	}
	cli->arena = own;
	arena_done(&scratch);
	return result;
}

static int follow_log(struct cli *cli, const struct json_value *log)
{
	const struct timespec pause = {.tv_nsec = FOLLOW_EVERY_MS * 1000000L};
	int64_t next[2] = {json_whole(json_get(log, "stdout_next"), 0),
	                   json_whole(json_get(log, "stderr_next"), 0)};

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

/* ---- the table ---- */

static const struct command_option create_options[] = {
        OPTION_ENV,
        OPTION_WORKDIR,
        OPTION_USER,
        {.name = "restart", .value = "WHEN", .about = "always (default), on-failure or no"},
        {.name = "restart-limit",
         .value = "COUNT",
         .about = "quick ends in a row after which it has failed (default: no limit)"},
        {.name = "restart-delay",
         .value = "TIME",
         .about = "pause before the first restart, doubled up to 1m (default 500ms)"},
        {.name = "stop-timeout",
         .value = "TIME",
         .about = "time from SIGTERM to SIGKILL (default 5s)"},
        {.name = "keep-awake", .about = "the running service keeps the sandbox from being idle"},
        {0},
};
static const struct command_option logs_options[] = {
        {.name = "follow", .letter = 'f', .about = "follow the output until interrupted"},
        {.name = "tail", .value = "BYTES", .about = "bytes of each stream (default 65536)"},
        {0},
};

#define ONE_SERVICE                                                                                \
	.usage = "SANDBOX SERVICE", .arguments_min = 2, .arguments_max = 2,                        \
	.completion = COMPLETE_SANDBOX
static const struct cli_command create = {
        .name = "create",
        .usage = "[OPTION...] SANDBOX SERVICE -- COMMAND [ARG...]",
        .about = "make or change a service and run it",
        .more = "A COMMAND without arguments is a shell line.",
        .options = create_options,
        .arguments_min = 2,
        .arguments_max = 2,
        .own_arguments = 2,
        .has_inner_command = true,
        .completion = COMPLETE_SANDBOX,
        .run = service_create,
};
static const struct cli_command list = {
        .name = "ls",
        .usage = "SANDBOX",
        .about = "list the services of a sandbox",
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_SANDBOX,
        .run = service_ls,
};
static const struct cli_command logs = {
        .name = "logs",
        .usage = "[OPTION...] SANDBOX SERVICE",
        .about = "show the end of a service's output",
        .options = logs_options,
        .arguments_min = 2,
        .arguments_max = 2,
        .completion = COMPLETE_SANDBOX,
        .run = service_logs,
};
static const struct cli_command start = {
        .name = "start",
        .about = "start a stopped or ended service",
        .run = service_start,
        ONE_SERVICE,
};
static const struct cli_command restart = {
        .name = "restart",
        .about = "end a service and start it again",
        .run = service_restart,
        ONE_SERVICE,
};
static const struct cli_command stop = {
        .name = "stop",
        .about = "stop a service; it is not restarted",
        .run = service_stop,
        ONE_SERVICE,
};
static const struct cli_command rm = {
        .name = "rm",
        .about = "end and delete a service",
        .run = service_rm,
        ONE_SERVICE,
};
static const struct cli_command *const children[] = {&create,  &list, &logs, &start,
                                                     &restart, &stop, &rm,   NULL};

const struct cli_command command_service = {
        .name = "service",
        .usage = "COMMAND",
        .about = "manage services: commands that a sandbox keeps running",
        .children = children,
};
