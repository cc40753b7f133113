/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/account/commands.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"

#define USAGE "/v1/usage"
#define ITEMS_MAX "10000"

/* An escaped query member; "" if the option is not given. */
static const char *query_member(struct cli *cli, const char *option, const char *name)
{
	const char *value = arguments_text(&cli->args, option, NULL);

	return value ? escaped_path(cli->arena, arena_format(cli->arena, "&%s=", name), value, "")
	             : "";
}

static const char *usage_path(struct cli *cli)
{
	return arena_format(cli->arena, USAGE "?limit=" ITEMS_MAX "%s%s%s%s%s%s",
	                    query_member(cli, "by", "group_by"), query_member(cli, "from", "from"),
	                    query_member(cli, "to", "to"), query_member(cli, "sandbox", "sandbox"),
	                    query_member(cli, "run", "run"),
	                    arguments_has(&cli->args, "csv") ? "&format=csv" : "");
}

static int print_csv(struct cli *cli)
{
	struct http_call call = {.method = "GET", .path = usage_path(cli)};
	struct http_answer answer = {0};

	if (http_client_call(cli->client, &call, &answer, cli->err) < 0)
		return -1;
	(void)fwrite(answer.body.data, 1, answer.body.size, stdout);
	buf_done(&answer.body);
	return 0;
}

static void add_row(struct text_table *t, const struct json_value *item)
{
	struct arena *a = t->arena;
	const char *group = json_get_text(item, "group", "");

	table_add(t, group[0] ? group : NULL);
	table_add(t, text_out_duration(
	                     a, (int64_t)(json_number(json_get(item, "seconds"), 0) * 1000)));
	table_add(t, arena_format(a, "%.3f", json_number(json_get(item, "cpu_seconds"), 0)));
	table_add(t, arena_format(a, "%.0f", json_number(json_get(item, "memory_gib_seconds"), 0)));
	table_add(t, arena_format(a, "%.6f", json_number(json_get(item, "storage_gib_months"), 0)));
	table_add(t, arena_format(a, "%.6f", json_number(json_get(item, "usd"), 0)));
}

static int run_usage(struct cli *cli)
{
	const struct json_value *answer, *items;
	struct text_table table;

	if (cli_connect(cli) < 0)
		return -1;
	if (arguments_has(&cli->args, "csv"))
		return print_csv(cli);
	if (server_get(cli, usage_path(cli), &answer) < 0)
		return -1;
	if (cli->json) {
		print_json(answer);
		return 0;
	}
	table_init(&table, cli->arena,
	           (const char *const[]){json_get_text(answer, "group_by", "GROUP"), "ACTIVE",
	                                 "CPU S", "MEMORY GIB S", "STORAGE GIB MONTHS", "USD",
	                                 NULL});
	items = json_get(answer, "items");
	for (size_t i = 0; i < json_count(items); i++)
		add_row(&table, json_item_at(items, i));
	table_print(&table, stdout);
	if (json_get_text(answer, "next_page", NULL))
		(void)fprintf(stderr, "These are the first " ITEMS_MAX ".\n");
	return 0;
}

static const struct command_option options[] = {
        {"by", "GROUP", "day (default), project, key, sandbox, run, reason or total"},
        {"from", "TIME", "first day, such as 2026-11-01 (default: the first of the month)"},
        {"to", "TIME", "end (default: now)"},
        {"sandbox", "SANDBOX", "only this sandbox; a deleted one by its id",
         .completion = COMPLETE_SANDBOX},
        {"run", "LABEL", "only this run"},
        {"csv", NULL, "as comma-separated values"},
        {0},
};

const struct cli_command command_usage = {
        .name = "usage",
        .usage = "[OPTION...]",
        .about = "show the use of sandboxes and its cost",
        .options = options,
        .run = run_usage,
};
