/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/run_options.h"
#include "cli/server.h"
#include "cli/terminal/terminal.h"
#include "cli/text_out.h"

#define STATUS_RUNNING 124
#define SLACK_MS 30000 /* for the network, beyond the requested wait */

static const char *window_path(struct cli *cli, const char *suffix)
{
	const char *prefix = instance_path(cli->arena, cli->args.words[0], "/windows/");

	return escaped_path(cli->arena, prefix, cli->args.words[1], suffix);
}

/* ---- lists ---- */

static const char *yes_cell(UNUSED struct arena *a, const struct json_value *value)
{
	return json_bool(value, false) ? "yes" : NULL;
}

static const struct listing_column window_columns[] = {
        {"NAME", "name", NULL},         {"PROCESS", "process", NULL},
        {"ROWS", "rows", NULL},         {"COLUMNS", "cols", NULL},
        {"BUSY", "busy", yes_cell},     {"VIEWERS", "viewers", NULL},
        {"OUTPUT", "output_end", NULL}, {0},
};
static const struct listing_column viewer_columns[] = {
        {"VIEWER", "viewer", NULL},     {"WHO", "who", NULL},        {"FROM", "peer", NULL},
        {"WRITES", "writes", yes_cell}, {"TYPED", "typed_at", NULL}, {0},
};
static const struct listing_column recording_columns[] = {
        {"ID", "id", NULL},
        {"SANDBOX", "sandbox_id", NULL},
        {"STARTED", "started_at", NULL},
        {"SIZE", "size_bytes", listing_bytes},
        {0},
};

static int windows_ls(struct cli *cli)
{
	return listing_run(cli, instance_path(cli->arena, cli->args.words[0], "/windows"),
	                   window_columns);
}

static int window_viewers(struct cli *cli)
{
	return listing_run(cli, window_path(cli, "/viewers"), viewer_columns);
}

static int recordings_ls(struct cli *cli)
{
	return listing_run(cli, "/api/sandbox/recordings", recording_columns);
}

/* ---- one window ---- */

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
		error_hint(cli->err, "use 'atoll terminal run' or 'keys' in scripts");
		return -1;
	}
	if (cli_connect(cli) < 0 || terminal_run(cli, &options, &status, &detached) < 0)
		return -1;
	if (detached)
		(void)fprintf(stderr, "\r\nDetached; the window stays open in '%s'.\n",
		              options.sandbox);
	return status;
}

static int window_close(struct cli *cli)
{
	return server_delete(cli, window_path(cli, ""), "closed");
}

static int print_screen(struct cli *cli, const struct json_value *screen)
{
	if (cli->json)
		print_json(screen);
	else
		(void)fputs(json_text(json_get(screen, "text"), ""), stdout);
	return 0;
}

static int window_screen(struct cli *cli)
{
	const char *form = arguments_has(&cli->args, "ansi") ? "/screen?form=ansi" : "/screen";
	const struct json_value *screen;

	if (cli_connect(cli) < 0 || server_get(cli, window_path(cli, form), &screen) < 0)
		return -1;
	return print_screen(cli, screen);
}

static int wait_of(struct cli *cli, int64_t *ret_ms)
{
	*ret_ms = 0;
	return arguments_duration(&cli->args, "wait", ret_ms, cli->err);
}

static int window_keys(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(1u << 20);
	const char *text = arguments_text(&cli->args, "until", NULL);
	struct server_call call = {.method = "POST", .path = window_path(cli, "/keys")};
	const struct json_value *screen;
	int64_t wait_ms, quiet_ms = text ? 0 : 300;

	if (wait_of(cli, &wait_ms) < 0 ||
	    arguments_duration(&cli->args, "quiet", &quiet_ms, cli->err) < 0)
		return -1;
	buf_addf(&body, "{\"quiet_ms\":%lld,\"wait_ms\":%lld,\"keys\":[", (long long)quiet_ms,
	         (long long)wait_ms);
	for (unsigned i = 2; i < cli->args.count; i++) {
		if (i > 2)
			buf_add_byte(&body, ',');
		json_write_text(&body, span_of(cli->args.words[i]));
	}
	buf_add_text(&body, "]");
	if (text) {
		buf_add_text(&body, ",\"wait_text\":");
		json_write_text(&body, span_of(text));
	}
	buf_add_byte(&body, '}');
	call.body = buf_text(&body);
	call.timeout_ms = wait_ms + SLACK_MS;
	if (cli_connect(cli) < 0 || server_call(cli, &call, &screen) < 0)
		return -1;
	(void)print_screen(cli, screen);
	return strcmp(json_text(json_get(screen, "reason"), ""), "timeout") == 0 ? STATUS_RUNNING
	                                                                         : 0;
}

static int window_run(struct cli *cli)
{
	const char *command = cli->args.words[2];
	struct server_call call = {.method = "POST", .path = window_path(cli, "/run")};
	const struct json_value *result;
	int64_t wait_ms;

	if (wait_of(cli, &wait_ms) < 0)
		return -1;
	call.body = arena_format(cli->arena, "{\"wait_ms\":%lld%s%s}", (long long)wait_ms,
	                         command ? ",\"command\":" : "",
	                         command ? json_quoted(cli->arena, command) : "");
	call.timeout_ms = (wait_ms ? wait_ms : SLACK_MS) + SLACK_MS;
	if (cli_connect(cli) < 0 || server_call(cli, &call, &result) < 0)
		return -1;
	if (cli->json)
		print_json(result);
	else
		(void)fputs(json_text(json_get(result, "output"), ""), stdout);
	if (json_bool(json_get(result, "running"), false))
		return STATUS_RUNNING;
	return (int)json_whole(json_get(result, "exit_code"), 0) & 0xFF;
}

/* ---- the commands ---- */

static const struct command_option open_options[] = {
        OPTION_ENV,
        OPTION_WORKDIR,
        OPTION_USER,
        {.name = "take-over", .about = "make the other viewers read-only"},
        {.name = "read-only", .about = "attach read-only"},
        {.name = "record", .about = "record the window from now on"},
        {0},
};
static const struct command_option screen_options[] = {
        {.name = "ansi", .about = "include colours and cursor"},
        {0},
};
static const struct command_option run_options[] = {
        {.name = "wait",
         .letter = 'w',
         .value = "DURATION",
         .about = "stop waiting after this time (30s): exit status 124"},
        {0},
};
static const struct command_option keys_options[] = {
        {.name = "until",
         .letter = 'u',
         .value = "TEXT",
         .about = "wait until the screen shows TEXT"},
        {.name = "quiet",
         .value = "DURATION",
         .about = "wait until there was no output for this time (300ms without --until)"},
        {.name = "wait",
         .letter = 'w',
         .value = "DURATION",
         .about = "longest wait (10s): exit status 124"},
        {0},
};

static const struct cli_command list = {
        .name = "ls",
        .usage = "SANDBOX",
        .about = "list windows",
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_SANDBOX,
        .run = windows_ls,
};
static const struct cli_command open_ = {
        .name = "open",
        .usage = "[OPTION...] SANDBOX WINDOW [-- COMMAND [ARG...]]",
        .about = "open a window, or attach to it",
        .more = "Ctrl-\\ detaches; programs in the window keep running.",
        .options = open_options,
        .arguments_min = 2,
        .arguments_max = 2,
        .own_arguments = 2,
        .has_inner_command = true,
        .completion = COMPLETE_SANDBOX,
        .run = window_open,
};
static const struct cli_command run_ = {
        .name = "run",
        .usage = "[OPTION...] SANDBOX WINDOW [COMMAND]",
        .about = "run a shell line in a window, and print its output",
        .more = "A running command is cancelled first; without COMMAND it is awaited instead.",
        .options = run_options,
        .arguments_min = 2,
        .arguments_max = 3,
        .completion = COMPLETE_SANDBOX,
        .run = window_run,
};
static const struct cli_command keys_ = {
        .name = "keys",
        .usage = "[OPTION...] SANDBOX WINDOW [KEY...]",
        .about = "type keys into a window, and print its screen",
        .more = "KEY: C-c, M-x, S-Tab, Up, Enter, Escape, F5, ...; other words are typed as text.",
        .options = keys_options,
        .arguments_min = 2,
        .arguments_max = 1000,
        .completion = COMPLETE_SANDBOX,
        .run = window_keys,
};
static const struct cli_command screen_ = {
        .name = "screen",
        .usage = "[--ansi] SANDBOX WINDOW",
        .about = "print the screen of a window",
        .options = screen_options,
        .arguments_min = 2,
        .arguments_max = 2,
        .completion = COMPLETE_SANDBOX,
        .run = window_screen,
};
static const struct cli_command viewers = {
        .name = "viewers",
        .usage = "SANDBOX WINDOW",
        .about = "list the viewers of a window",
        .arguments_min = 2,
        .arguments_max = 2,
        .completion = COMPLETE_SANDBOX,
        .run = window_viewers,
};
static const struct cli_command close_ = {
        .name = "close",
        .usage = "SANDBOX WINDOW",
        .about = "close a window and end its programs",
        .arguments_min = 2,
        .arguments_max = 2,
        .completion = COMPLETE_SANDBOX,
        .run = window_close,
};
static const struct cli_command recordings = {
        .name = "recordings",
        .usage = "",
        .about = "list recordings; 'atoll replay' shows one",
        .run = recordings_ls,
};
static const struct cli_command *const children[] = {
        &list, &open_, &run_, &keys_, &screen_, &viewers, &close_, &recordings, NULL};

const struct cli_command command_terminal = {
        .name = "terminal",
        .usage = "COMMAND",
        .about = "manage windows: terminals with names",
        .children = children,
};
