/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/terminal/commands.h"
#include "cli/core/body.h"
#include "cli/core/listing.h"
#include "cli/core/plain.h"
#include "cli/core/run_options.h"
#include "cli/core/server.h"
#include "cli/terminal/terminal.h"
#include "cli/core/text_out.h"
#include "json/write.h"

#define STATUS_RUNNING 124
#define SLACK_MS 30000 /* for the network, beyond the requested wait */

static const char *window_path(struct cli *cli, const char *suffix)
{
	const char *prefix = instance_path(cli->arena, cli->args.words[0], "/windows/");

	return escaped_path(cli->arena, prefix, cli->args.words[1], suffix);
}

static const struct listing_column window_columns[] = {
        {"NAME", "name", NULL},         {"PROCESS", "process", NULL},
        {"ROWS", "rows", NULL},         {"COLUMNS", "cols", NULL},
        {"BUSY", "busy", listing_yes},  {"VIEWERS", "viewers", NULL},
        {"OUTPUT", "output_end", NULL}, {0},
};
static const struct listing_column viewer_columns[] = {
        {"VIEWER", "viewer", NULL},        {"WHO", "who", NULL},        {"FROM", "peer", NULL},
        {"WRITES", "writes", listing_yes}, {"TYPED", "typed_at", NULL}, {0},
};
static const char *duration_cell(struct arena *a, const struct json_value *value)
{
	int64_t ms = json_whole(value, -1);

	return ms < 0 ? NULL : text_out_duration(a, ms);
}

static const struct listing_column recording_columns[] = {
        {"ID", "id", NULL},
        {"SANDBOX", "sandbox_id", NULL},
        {"WINDOW", "window", NULL},
        {"USER", "user", NULL},
        {"STARTED", "started_at", NULL},
        {"DURATION", "duration_ms", duration_cell},
        {"SIZE", "size_bytes", listing_bytes},
        {0},
};

static int window_open(struct cli *cli)
{
	struct terminal_options options = {
	        .sandbox = cli->args.words[0],
	        .name = cli->args.words[1],
	        .args = cli->args.inner,
	        .cwd = arguments_text(&cli->args, "workdir", NULL),
	        .user = arguments_text(&cli->args, "user", NULL),
	        .env = arguments_list(cli, "env"),
	        .takes_over = arguments_has(&cli->args, "take-over"),
	        .read_only = arguments_has(&cli->args, "read-only"),
	        .record = arguments_has(&cli->args, "record"),
	};
	bool detached;
	int status;

	if (!terminal_is_here()) {
		(void)FAIL(cli->err, ERROR_INVALID, "'terminal open' needs a terminal");
		return FAIL_HINT(cli->err, "use 'atoll terminal run' or 'keys' in scripts");
	}
	if (cli_connect(cli) < 0 || terminal_run(cli, &options, &status, &detached) < 0)
		return -1;
	if (detached)
		(void)fprintf(stderr, "\r\nDetached; the window stays open in '%s'.\n",
		              options.sandbox);
	return status;
}

static void print_screen(UNUSED struct cli *cli, const struct json_value *screen)
{
	(void)fputs(json_get_text(screen, "text", ""), stdout);
}

static int window_keys(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(1u << 20);
	const char *text = arguments_text(&cli->args, "until", NULL);
	struct server_call call = {.method = "POST", .path = window_path(cli, "/keys")};
	const struct json_value *screen;
	int64_t wait_ms = 0, quiet_ms = text ? 0 : 300;

	if (arguments_duration(&cli->args, "wait", &wait_ms, cli->err) < 0 ||
	    arguments_duration(&cli->args, "quiet", &quiet_ms, cli->err) < 0)
		return -1;
	body_begin(&body);
	json_add_whole(&body, "quiet_ms", quiet_ms);
	json_add_whole(&body, "wait_ms", wait_ms);
	json_add_texts(&body, "keys", cli->args.words + 2);
	body_add_text(&body, "wait_text", text);
	call.body = body_end(&body);
	call.timeout_ms = wait_ms + SLACK_MS;
	if (cli_connect(cli) < 0 || server_call(cli, &call, &screen) < 0)
		return -1;
	plain_print(cli, screen);
	return strcmp(json_get_text(screen, "reason", ""), "timeout") == 0 ? STATUS_RUNNING : 0;
}

static int window_run(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(1u << 20);
	struct server_call call = {.method = "POST", .path = window_path(cli, "/run")};
	const struct json_value *result;
	int64_t wait_ms = 0;

	if (arguments_duration(&cli->args, "wait", &wait_ms, cli->err) < 0)
		return -1;
	body_begin(&body);
	json_add_whole(&body, "wait_ms", wait_ms);
	body_add_text(&body, "command", cli->args.words[2]);
	call.body = body_end(&body);
	call.timeout_ms = (wait_ms ? wait_ms : SLACK_MS) + SLACK_MS;
	if (cli_connect(cli) < 0 || server_call(cli, &call, &result) < 0)
		return -1;
	if (cli->json)
		print_json(result);
	else
		(void)fputs(json_get_text(result, "output", ""), stdout);
	if (json_get_bool(result, "running", false))
		return STATUS_RUNNING;
	return (int)json_get_whole(result, "exit_code", 0) & 0xFF;
}

static const struct command_option open_options[] = {
        OPTION_ENV,
        OPTION_WORKDIR,
        OPTION_USER,
        {"take-over", NULL, "make the other viewers read-only"},
        {"read-only", NULL, "attach read-only"},
        {"record", NULL, "record the window from now on"},
        {0},
};
static const struct command_option screen_options[] = {
        {"ansi", NULL, "include colours and cursor", .member = "form=ansi"},
        {0},
};
static const struct command_option run_options[] = {
        {"wait", "DURATION", "stop waiting after this time (30s): exit status 124", .letter = 'w'},
        {0},
};
static const struct command_option keys_options[] = {
        {"until", "TEXT", "wait until the screen shows TEXT", .letter = 'u'},
        {"quiet", "DURATION",
         "wait until there was no output for this time (300ms without --until)"},
        {"wait", "DURATION", "longest wait (10s): exit status 124", .letter = 'w'},
        {0},
};

static const struct cli_command children[] = {
        {"ls", "SANDBOX", "list windows", .completion = COMPLETE_SANDBOX,
         .operation = "GET /api/sandbox/instances/{id}/windows", .columns = window_columns},
        {"open", "[OPTION...] SANDBOX WINDOW [-- COMMAND [ARG...]]",
         "open a window, or attach to it",
         .more = "Ctrl-\\ detaches; programs in the window keep running.", .options = open_options,
         .arguments_min = 2, .arguments_max = 2, .own_arguments = 2, .has_inner_command = true,
         .completion = COMPLETE_SANDBOX, .run = window_open},
        {"run", "[OPTION...] SANDBOX WINDOW [COMMAND]",
         "run a shell line in a window, and print its output",
         .more = "A running command is cancelled first; without COMMAND it is awaited instead.",
         .options = run_options, .arguments_min = 2, .arguments_max = 3,
         .completion = COMPLETE_SANDBOX, .run = window_run},
        {"keys", "[OPTION...] SANDBOX WINDOW [KEY...]",
         "type keys into a window, and print its screen",
         .more = "KEY: C-c, M-x, S-Tab, Up, Enter, Escape, F5, ...; other words are typed as text.",
         .options = keys_options, .arguments_min = 2, .arguments_max = 1000,
         .completion = COMPLETE_SANDBOX, .run = window_keys, .print = print_screen},
        {"screen", "[--ansi] SANDBOX WINDOW", "print the screen of a window",
         .options = screen_options, .completion = COMPLETE_SANDBOX,
         .operation = "GET /api/sandbox/instances/{id}/windows/{window}/screen",
         .print = print_screen},
        {"viewers", "SANDBOX WINDOW", "list the viewers of a window",
         .completion = COMPLETE_SANDBOX,
         .operation = "GET /api/sandbox/instances/{id}/windows/{window}/viewers",
         .columns = viewer_columns},
        {"close", "SANDBOX WINDOW", "close a window and end its programs",
         .completion = COMPLETE_SANDBOX,
         .operation = "DELETE /api/sandbox/instances/{id}/windows/{window}", .done = "closed"},
        {"recordings", "", "list recordings; 'atoll replay' shows one",
         .operation = "GET /api/sandbox/recordings", .columns = recording_columns},
        {0},
};

const struct cli_command command_terminal = {
        .name = "terminal",
        .usage = "COMMAND",
        .about = "manage windows: terminals with names",
        .children = children,
};
