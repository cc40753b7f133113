/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/body.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/server.h"
#include "cli/session.h"
#include "cli/text_out.h"

#define JOBS "/v1/jobs"
#define BODY_MAX (256 * 1024)
#define WAIT_FIRST_MS 50
#define WAIT_MAX_MS 1000
#define STATUS_STOPPED 143

static const struct listing_column columns[] = {
        {"RESULT", "resultId", NULL},    {"STATUS", "status", NULL},
        {"EXIT", "exitCode", NULL},      {"CAUSE", "cause", NULL},
        {"SANDBOX", "sandbox_id", NULL}, {"COMMAND", "command", NULL},
        {"REASON", "reason", NULL},      {0},
};

/* JOBS/ID + suffix with the option --conversation as a query. */
static const char *job_path(struct cli *cli, const char *suffix, const char *query)
{
	const char *conversation = arguments_text(&cli->args, "conversation", NULL);
	const char *path = escaped_path(cli->arena, JOBS "/", cli->args.words[0], suffix);

	if (!conversation)
		return *query ? arena_format(cli->arena, "%s?%s", path, query) : path;
	return arena_format(cli->arena, "%s?conversation=%s%s%s", path,
	                    escaped_path(cli->arena, "", conversation, ""), *query ? "&" : "",
	                    query);
}

/* ---- run ---- */

static void add_quoted(struct cli *cli, struct buf *body, const char *name, const char *value)
{
	if (value)
		buf_addf(body, ",\"%s\":%s", name, json_quoted(cli->arena, value));
}

static int run_body(struct cli *cli, const char **ret)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	const char **inner = cli->args.inner;
	int64_t timeout_ms = 0;

	if (!inner || !inner[0])
		return FAIL(cli->err, ERROR_INVALID, "no command is given after '--'");
	if (arguments_duration(&cli->args, "timeout", &timeout_ms, cli->err) < 0)
		return -1;
	buf_addf(&body, "{\"background\":true,\"cmd\":%s,\"args\":[",
	         json_quoted(cli->arena, inner[0]));
	for (unsigned i = 1; inner[i]; i++)
		buf_addf(&body, "%s%s", i > 1 ? "," : "", json_quoted(cli->arena, inner[i]));
	buf_add_byte(&body, ']');
	add_quoted(cli, &body, "conversation", arguments_text(&cli->args, "conversation", NULL));
	add_quoted(cli, &body, "cwd", arguments_text(&cli->args, "cwd", NULL));
	add_quoted(cli, &body, "user", arguments_text(&cli->args, "user", NULL));
	if (body_add_json(&body, "origin", arguments_text(&cli->args, "origin", NULL), cli->err) <
	    0)
		return -1;
	buf_addf(&body, ",\"timeout_ms\":%lld}", (long long)timeout_ms);
	if (body.overflowed)
		return FAIL(cli->err, ERROR_TOO_LARGE, "the command is longer than %d bytes",
		            BODY_MAX);
	*ret = arena_text(cli->arena, buf_text(&body));
	return 0;
}

static int job_run(struct cli *cli)
{
	struct server_call call = {.method = "POST"};
	const struct json_value *job;

	if (run_body(cli, &call.body) < 0 || cli_connect(cli) < 0)
		return -1;
	call.path = instance_path(cli->arena, cli->args.words[0], "/exec");
	if (server_call(cli, &call, &job) < 0)
		return -1;
	if (cli->json)
		print_json(job);
	else
		(void)printf("%s\n",
		             text_out_safe(cli->arena, json_text(json_get(job, "resultId"), "")));
	return 0;
}

/* ---- ls, status, logs ---- */

static int job_ls(struct cli *cli)
{
	const char *conversation = arguments_text(&cli->args, "conversation", "");
	const char *sandbox = arguments_text(&cli->args, "sandbox", NULL);
	const char *path = arena_format(cli->arena, JOBS "?limit=1000&conversation=%s",
	                                escaped_path(cli->arena, "", conversation, ""));

	if (sandbox)
		path = arena_format(cli->arena, "%s&sandbox=%s", path,
		                    escaped_path(cli->arena, "", sandbox, ""));
	return listing_run(cli, path, columns);
}

static int print_job(struct cli *cli, const struct json_value *job)
{
	const char *reason = json_text(json_get(job, "reason"), "");

	if (cli->json) {
		print_json(job);
		return 0;
	}
	(void)printf("%s%s%s\n", json_text(json_get(job, "status"), ""), *reason ? ": " : "",
	             text_out_safe(cli->arena, reason));
	return 0;
}

static int job_status(struct cli *cli)
{
	const struct json_value *job;

	if (cli_connect(cli) < 0 || server_get(cli, job_path(cli, "", ""), &job) < 0)
		return -1;
	return print_job(cli, job);
}

static int job_stop(struct cli *cli)
{
	struct server_call call = {.method = "POST"};
	const struct json_value *job;

	if (cli_connect(cli) < 0)
		return -1;
	call.path = job_path(cli, "/stop", "");
	if (server_call(cli, &call, &job) < 0)
		return -1;
	return print_job(cli, job);
}

static void print_output(const struct json_value *logs)
{
	const char *out = json_text(json_get(logs, "stdout"), "");
	const char *err = json_text(json_get(logs, "stderr"), "");

	(void)fwrite(out, 1, strlen(out), stdout);
	(void)fflush(stdout);
	(void)fwrite(err, 1, strlen(err), stderr);
}

static int job_logs(struct cli *cli)
{
	const struct json_value *logs;
	int64_t tail = 65536;

	if (arguments_whole(&cli->args, "tail", 1, &tail, cli->err) < 0 || cli_connect(cli) < 0 ||
	    server_get(
	            cli,
	            job_path(cli, "/logs", arena_format(cli->arena, "tail=%lld", (long long)tail)),
	            &logs) < 0)
		return -1;
	if (cli->json)
		print_json(logs);
	else
		print_output(logs);
	return 0;
}

/* ---- wait ---- */

/* As a shell reports it. */
static int exit_status_of(const struct json_value *job)
{
	int64_t code = json_whole(json_get(job, "exitCode"), -1);

	if (code >= 0 && code <= 255)
		return (int)code;
	return strcmp(json_text(json_get(job, "status"), ""), "stopped") == 0 ? STATUS_STOPPED : 1;
}

static int job_wait(struct cli *cli)
{
	int64_t pause_ms = WAIT_FIRST_MS;
	const struct json_value *job;

	if (cli_connect(cli) < 0)
		return -1;
	for (;;) {
		struct timespec pause = {.tv_sec = pause_ms / 1000,
		                         .tv_nsec = pause_ms % 1000 * 1000000};

		if (server_get(cli, job_path(cli, "", ""), &job) < 0)
			return -1;
		if (strcmp(json_text(json_get(job, "status"), ""), "running") != 0)
			break;
		(void)nanosleep(&pause, NULL);
		pause_ms = pause_ms * 2 < WAIT_MAX_MS ? pause_ms * 2 : WAIT_MAX_MS;
	}
	if (cli->json)
		print_json(job);
	else
		print_output(json_get(job, "logs"));
	session_print_cause(job);
	return exit_status_of(job);
}

/* ---- the table ---- */

#define CONVERSATION                                                                               \
	{                                                                                          \
		.name = "conversation", .value = "ID",                                             \
		.about = "conversation that the job was started with"                              \
	}
static const struct command_option run_options[] = {
        {.name = "conversation",
         .value = "ID",
         .about = "callers must name this conversation to see the job"},
        {.name = "origin",
         .value = "JSON",
         .about = "origin that the job's completion is reported to"},
        {.name = "timeout", .value = "TIME", .about = "kill the command after this time (30s, 2h)"},
        {.name = "cwd", .value = "FOLDER", .about = "folder to run in"},
        {.name = "user", .value = "USER", .about = "user name or number inside the sandbox"},
        {0},
};
static const struct command_option ls_options[] = {
        CONVERSATION,
        {.name = "sandbox",
         .value = "SANDBOX",
         .about = "only jobs of this sandbox",
         .completion = COMPLETE_SANDBOX},
        {0},
};
static const struct command_option one_options[] = {CONVERSATION, {0}};
static const struct command_option logs_options[] = {
        CONVERSATION,
        {.name = "tail", .value = "BYTES", .about = "bytes of each stream (default 65536)"},
        {0},
};

#define ONE_JOB .arguments_min = 1, .arguments_max = 1
static const struct cli_command run = {
        .name = "run",
        .usage = "[OPTION...] SANDBOX -- COMMAND [ARG...]",
        .about = "start a command in the background and print its resultId",
        .options = run_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .own_arguments = 1,
        .has_inner_command = true,
        .completion = COMPLETE_SANDBOX,
        .run = job_run,
};
static const struct cli_command list = {
        .name = "ls",
        .usage = "[OPTION...]",
        .about = "list the background jobs of a conversation",
        .options = ls_options,
        .run = job_ls,
};
static const struct cli_command status = {
        .name = "status",
        .usage = "[OPTION...] RESULT",
        .about = "show the state of a job",
        .options = one_options,
        ONE_JOB,
        .run = job_status,
};
static const struct cli_command logs = {
        .name = "logs",
        .usage = "[OPTION...] RESULT",
        .about = "show the end of a job's output",
        .options = logs_options,
        ONE_JOB,
        .run = job_logs,
};
static const struct cli_command stop = {
        .name = "stop",
        .usage = "[OPTION...] RESULT",
        .about = "end a job and its child processes",
        .options = one_options,
        ONE_JOB,
        .run = job_stop,
};
static const struct cli_command wait_for = {
        .name = "wait",
        .usage = "[OPTION...] RESULT",
        .about = "wait for a job's end, print its logs, exit with its status",
        .options = one_options,
        ONE_JOB,
        .run = job_wait,
};
static const struct cli_command *const children[] = {&run,  &list,     &status, &logs,
                                                     &stop, &wait_for, NULL};

const struct cli_command command_job = {
        .name = "job",
        .usage = "COMMAND",
        .about = "run commands in the background",
        .children = children,
};
