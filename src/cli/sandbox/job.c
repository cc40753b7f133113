/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/core/body.h"
#include "cli/sandbox/commands.h"
#include "json/write.h"
#include "cli/core/listing.h"
#include "cli/core/session.h"
#include "cli/core/text_out.h"
#include "cli/core/plain.h"

#define WAIT_FIRST_MS 50
#define WAIT_MAX_MS 1000
#define STATUS_STOPPED 143

static const struct listing_column columns[] = {
        {"RESULT", "resultId", NULL},    {"STATUS", "status", NULL},
        {"EXIT", "exitCode", NULL},      {"CAUSE", "cause", NULL},
        {"SANDBOX", "sandbox_id", NULL}, {"COMMAND", "command", NULL},
        {"REASON", "reason", NULL},      {0},
};

static int add_command(struct cli *cli, struct buf *body)
{
	const char **inner = cli->args.inner;

	if (!inner || !inner[0])
		return FAIL(cli->err, ERROR_INVALID, "no command is given after '--'");
	body_add_text(body, "cmd", inner[0]);
	json_add_texts(body, "args", inner + 1);
	return 0;
}

static void print_job(struct cli *cli, const struct json_value *job)
{
	const char *reason = json_get_text(job, "reason", "");

	(void)printf("%s%s%s\n", json_get_text(job, "status", ""), *reason ? ": " : "",
	             text_out_safe(cli->arena, reason));
}

static void print_output(UNUSED struct cli *cli, const struct json_value *logs)
{
	const char *out = json_get_text(logs, "stdout", "");
	const char *err = json_get_text(logs, "stderr", "");

	(void)fwrite(out, 1, strlen(out), stdout);
	(void)fflush(stdout);
	(void)fwrite(err, 1, strlen(err), stderr);
}

/* As a shell reports it. */
static int exit_status_of(const struct json_value *job)
{
	int64_t code = json_get_whole(job, "exitCode", -1);

	if (code >= 0 && code <= 255)
		return (int)code;
	return strcmp(json_get_text(job, "status", ""), "stopped") == 0 ? STATUS_STOPPED : 1;
}

static int job_wait(struct cli *cli)
{
	int64_t pause_ms = WAIT_FIRST_MS;
	const struct json_value *job;

	for (;;) {
		struct timespec pause = {.tv_sec = pause_ms / 1000,
		                         .tv_nsec = pause_ms % 1000 * 1000000};

		if (plain_call(cli, &job) < 0)
			return -1;
		if (strcmp(json_get_text(job, "status", ""), "running") != 0)
			break;
		(void)nanosleep(&pause, NULL);
		pause_ms = pause_ms * 2 < WAIT_MAX_MS ? pause_ms * 2 : WAIT_MAX_MS;
	}
	if (cli->json)
		print_json(job);
	else
		print_output(cli, json_get(job, "logs"));
	session_print_cause(job);
	return exit_status_of(job);
}

#define CONVERSATION                                                                               \
	{                                                                                          \
		"conversation", "ID", "conversation that the job was started with"                 \
	}
static const struct command_option run_options[] = {
        {"conversation", "ID", "callers must name this conversation to see the job"},
        {"origin", "JSON", "origin that the job's completion is reported to"},
        {"timeout", "TIME", "kill the command after this time (30s, 2h)", .member = "timeout_ms"},
        {"cwd", "FOLDER", "folder to run in"},
        {"user", "USER", "user name or number inside the sandbox"},
        {"record", NULL, "record its output to its end: see 'atoll terminal recordings'"},
        {0},
};
static const struct command_option ls_options[] = {
        CONVERSATION,
        {"sandbox", "SANDBOX", "only jobs of this sandbox", .completion = COMPLETE_SANDBOX},
        {0},
};
static const struct command_option one_options[] = {CONVERSATION, {0}};
static const struct command_option logs_options[] = {
        CONVERSATION,
        {"tail", "BYTES", "bytes of each stream (default 65536)", .otherwise = "65536"},
        {0},
};

static const struct cli_command children[] = {
        {"run", "[OPTION...] SANDBOX -- COMMAND [ARG...]",
         "start a command in the background and print its resultId", .options = run_options,
         .arguments_min = 1, .arguments_max = 1, .own_arguments = 1, .has_inner_command = true,
         .completion = COMPLETE_SANDBOX, .operation = "POST /api/sandbox/instances/{id}/exec",
         .fixed = "background=true", .fill = add_command, .prints = "resultId"},
        {"ls", "[OPTION...]", "list the background jobs of a conversation", .options = ls_options,
         .operation = "GET /v1/jobs?limit=1000", .columns = columns},
        {"status", "[OPTION...] RESULT", "show the state of a job", .options = one_options,
         .operation = "GET /v1/jobs/{job}", .print = print_job},
        {"logs", "[OPTION...] RESULT", "show the end of a job's output", .options = logs_options,
         .operation = "GET /v1/jobs/{job}/logs", .print = print_output},
        {"stop", "[OPTION...] RESULT", "end a job and its child processes", .options = one_options,
         .operation = "POST /v1/jobs/{job}/stop", .print = print_job},
        {"wait", "[OPTION...] RESULT", "wait for a job's end, print its logs, exit with its status",
         .options = one_options, .operation = "GET /v1/jobs/{job}", .run = job_wait},
        {0},
};

const struct cli_command command_job = {
        .name = "job",
        .usage = "COMMAND",
        .about = "run commands in the background",
        .children = children,
};
