/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/body.h"
#include "cli/commands.h"
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

/* Each option, and the setting that it changes. */
static const struct {
	const char *option, *setting;
} durations[] = {
        {"idle-reap", "idle_reap_seconds"},
        {"lifetime-max", "lifetime_max_seconds"},
        {"terminal-ttl", "terminal_ttl_seconds"},
};

static int write_durations(struct cli *cli, struct buf *body)
{
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		int64_t ms = -1;

		if (arguments_duration(&cli->args, durations[i].option, &ms, cli->err) < 0)
			return -1;
		if (ms > 0 && ms < 1000)
			return FAIL(cli->err, ERROR_INVALID, "--%s: whole seconds",
			            durations[i].option);
		if (ms >= 0)
			body_add_whole(body, durations[i].setting, ms / 1000);
	}
	return 0;
}

static int settings_set(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct server_call call = {.method = "PUT", .path = SETTINGS};
	const struct json_value *settings;

	body_begin(&body);
	if (write_durations(cli, &body) < 0)
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
        {.name = "idle-reap",
         .value = "DURATION",
         .about = "remove an ephemeral sandbox after so long without use; 0s = the server's"},
        {.name = "lifetime-max",
         .value = "DURATION",
         .about = "remove an ephemeral sandbox at this age; 0s = the server's"},
        {.name = "terminal-ttl",
         .value = "DURATION",
         .about = "close a terminal after so long without a byte; 0s = the server's"},
        {0},
};

static const struct command list = {
        .name = "ls",
        .usage = "",
        .about = "show what holds in the project, as JSON",
        .run = settings_ls,
};
static const struct command set = {
        .name = "set",
        .usage = "OPTION...",
        .about = "change what holds in the project from now on",
        .options = set_options,
        .run = settings_set,
};
static const struct command *const children[] = {&list, &set, NULL};

const struct command command_settings = {
        .name = "settings",
        .usage = "COMMAND",
        .about = "show and change the project's settings",
        .children = children,
};
