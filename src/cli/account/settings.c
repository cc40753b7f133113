/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/body.h"
#include "cli/commands.h"
#include "cli/idle.h"
#include "cli/server.h"
#include "cli/text_out.h"

#define BODY_MAX 4096

static int settings_ls(struct cli *cli)
{
	const struct json_value *settings;

	if (cli_connect(cli) < 0 || server_get(cli, SETTINGS, &settings) < 0)
		return -1;
	print_json(settings);
	return 0;
}

static int write_seconds(struct buf *body, const char *option, const char *setting, int64_t ms,
                         struct error *err)
{
	if (ms > 0 && ms < 1000)
		return FAIL(err, ERROR_INVALID, "--%s: expected whole seconds", option);
	body_add_whole(body, setting, ms < 0 ? -1 : ms / 1000);
	return 0;
}

static int write_durations(struct cli *cli, struct buf *body)
{
	int64_t ttl_ms = 0;

	for (size_t i = 0; i < IDLE_OPTIONS; i++) {
		const struct idle_option *o = &idle_options[i];
		int64_t ms = 0;

		if (!arguments_has(&cli->args, o->option))
			continue;
		if (idle_option_get(&cli->args, o, &ms, cli->err) < 0 ||
		    write_seconds(body, o->option, o->in_seconds, ms, cli->err) < 0)
			return -1;
	}
	if (!arguments_has(&cli->args, "terminal-ttl"))
		return 0;
	if (arguments_duration(&cli->args, "terminal-ttl", &ttl_ms, cli->err) < 0)
		return -1;
	return write_seconds(body, "terminal-ttl", "terminal_ttl_seconds", ttl_ms, cli->err);
}

static int write_recording(struct cli *cli, struct buf *body)
{
	const char *text = arguments_text(&cli->args, "record-terminals", NULL);

	if (!text)
		return 0;
	if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0)
		return FAIL(cli->err, ERROR_INVALID, "--record-terminals: on or off, not '%s'",
		            text);
	body_add_bool(body, "record_terminals", strcmp(text, "on") == 0);
	return 0;
}

static int settings_set(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct server_call call = {.method = "PUT", .path = SETTINGS};
	const struct json_value *settings;

	body_begin(&body);
	if (write_durations(cli, &body) < 0 || write_recording(cli, &body) < 0)
		return -1;
	call.body = body_end(&body);
	if (strcmp(call.body, "{}") == 0)
		return FAIL(cli->err, ERROR_INVALID, "nothing to change is given");
	if (cli_connect(cli) < 0 || server_call(cli, &call, &settings) < 0)
		return -1;
	print_json(settings);
	return 0;
}

static const struct command_option set_options[] = {
        OPTIONS_IDLE,
        {.name = "terminal-ttl",
         .value = "DURATION",
         .about = "close a terminal after this time without output or input; 0s = the server's "
                  "default"},
        {.name = "record-terminals", .value = "on|off", .about = "record every new window"},
        {0},
};

static const struct cli_command list = {
        .name = "ls",
        .usage = "",
        .about = "show the project's settings as JSON",
        .run = settings_ls,
};
static const struct cli_command set = {
        .name = "set",
        .usage = "OPTION...",
        .about = "change the project's settings",
        .options = set_options,
        .run = settings_set,
};
static const struct cli_command *const children[] = {&list, &set, NULL};

const struct cli_command command_settings = {
        .name = "settings",
        .usage = "COMMAND",
        .about = "show and change the project's settings",
        .children = children,
};
