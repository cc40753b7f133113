/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/core/text_out.h"
#include "cli/sandbox/commands.h"
#include "cli/sandbox/log_view.h"

static const struct listing_column columns[] = {
        {"TIME", "at", NULL},
        {"NUMBER", "sequence", NULL},
        {"KIND", "kind", NULL},
        {"SANDBOX", "sandbox", NULL},
        {"REASON", "reason", NULL},
        {"TEXT", "text", NULL},
        {0},
};

static void print_line(struct arena *a, const struct json_value *event)
{
	const char *reason = json_get_text(event, "reason", NULL);

	(void)printf("%s  %-17s %s  %s%s%s\n", text_out_safe(a, json_get_text(event, "at", "")),
	             text_out_safe(a, json_get_text(event, "kind", "")),
	             text_out_safe(a, json_get_text(event, "sandbox", "-")),
	             text_out_safe(a, json_get_text(event, "text", "")), reason ? ": " : "",
	             reason ? text_out_safe(a, reason) : "");
}

static int run_events(struct cli *cli)
{
	static const char *const filters[] = {"sandbox", "kind", NULL};

	return log_view_run(cli, &(struct log_view){.path = "/v1/events",
	                                            .filters = filters,
	                                            .columns = columns,
	                                            .print = print_line});
}

static const struct command_option options[] = {
        {"follow", NULL, "print new events as they happen", .letter = 'f'},
        {"sandbox", "SANDBOX", "only events of this sandbox", .completion = COMPLETE_SANDBOX},
        {"kind", "KIND", "kind of events, such as sandbox.failed or sandbox.*"},
        {"last", "COUNT", "print this many of the newest events (default 50)"},
        {"after", "NUMBER", "print the events after this one instead"},
        {0},
};

const struct cli_command command_events = {
        .name = "events",
        .usage = "[OPTION...]",
        .about = "show the events of sandboxes",
        .options = options,
        .run = run_events,
};
