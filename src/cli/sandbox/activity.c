/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/core/text_out.h"
#include "cli/sandbox/commands.h"
#include "cli/sandbox/log_view.h"

static const struct listing_column columns[] = {
        {"TIME", "at", NULL},
        {"SANDBOX", "sandbox", NULL},
        {"KIND", "kind", NULL},
        {"OPERATION", "operation", NULL},
        {"OUTCOME", "outcome", NULL},
        {"EXIT", "exit_code", NULL},
        {"MS", "duration_ms", NULL},
        {"ARGUMENTS", "arguments", NULL},
        {0},
};

static void print_line(struct arena *a, const struct json_value *row)
{
	(void)printf("%s  %s  %-7s %s  %s (%" PRId64 " ms)  %s\n",
	             text_out_safe(a, json_get_text(row, "at", "")),
	             text_out_safe(a, json_get_text(row, "sandbox", "-")),
	             text_out_safe(a, json_get_text(row, "kind", "")),
	             text_out_safe(a, json_get_text(row, "operation", "")),
	             text_out_safe(a, json_get_text(row, "outcome", "")),
	             json_get_whole(row, "duration_ms", 0),
	             text_out_safe(a, json_get_text(row, "arguments", "")));
}

static int run_activity(struct cli *cli)
{
	static const char *const filters[] = {"kind", "user", "key", "conversation", NULL};
	struct log_view view = {
	        .path = "/v1/activity",
	        .filters = filters,
	        .sandbox = cli->args.count > 0 ? cli->args.words[0] : NULL,
	        .columns = columns,
	        .print = print_line,
	        .as_csv = arguments_has(&cli->args, "csv"),
	};

	if (view.as_csv && arguments_has(&cli->args, "follow"))
		return FAIL(cli->err, ERROR_INVALID, "--csv cannot be combined with --follow");
	return log_view_run(cli, &view);
}

static const struct command_option options[] = {
        {"follow", NULL, "print new rows as calls end", .letter = 'f'},
        {"kind", "KIND", "only command, code, tool or file"},
        {"user", "USER", "only calls of this member's keys"},
        {"key", "KEY", "only calls of this key, by its id"},
        {"conversation", "CONVERSATION", "only calls of this conversation"},
        {"last", "COUNT", "print this many of the newest rows (default 50)"},
        {"after", "NUMBER", "print the rows after this one instead"},
        {"csv", NULL, "print comma-separated values, with all columns"},
        {0},
};

const struct cli_command command_activity = {
        .name = "activity",
        .usage = "[OPTION...] [SANDBOX]",
        .about = "show what was called in sandboxes",
        .options = options,
        .arguments_max = 1,
        .completion = COMPLETE_SANDBOX,
        .run = run_activity,
};
