/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/account/commands.h"
#include "cli/core/idle.h"
#include "json/write.h"

static int write_seconds(struct buf *body, const char *option, const char *setting, int64_t ms,
                         struct error *err)
{
	if (ms > 0 && ms < 1000)
		return FAIL(err, ERROR_INVALID, "--%s: expected whole seconds", option);
	json_add_whole(body, setting, ms < 0 ? -1 : ms / 1000);
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
	json_add_bool(body, "record_terminals", strcmp(text, "on") == 0);
	return 0;
}

static int write_settings(struct cli *cli, struct buf *body)
{
	return write_durations(cli, body) < 0 || write_recording(cli, body) < 0 ? -1 : 0;
}

static const struct command_option set_options[] = {
        OPTIONS_IDLE,
        {"terminal-ttl", "DURATION",
         "close a terminal after this time without output or input; 0s = the server's default"},
        {"record-terminals", "on|off", "record every new window", .member = ""},
        {0},
};

static const struct cli_command children[] = {
        {"ls", "", "show the project's settings as JSON", .operation = "GET /api/sandbox/settings",
         .prints = "*"},
        {"set", "OPTION...", "change the project's settings", .options = set_options,
         .operation = "PUT /api/sandbox/settings", .fill = write_settings, .prints = "*"},
        {0},
};

const struct cli_command command_settings = {
        .name = "settings",
        .usage = "COMMAND",
        .about = "show and change the project's settings",
        .children = children,
};
