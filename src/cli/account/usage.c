/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/account/commands.h"
#include "cli/core/plain.h"
#include "cli/core/server.h"
#include "cli/core/table.h"
#include "cli/core/text_out.h"

#define ITEMS_MAX "10000"

static int print_csv(struct cli *cli)
{
	struct http_call call = {.method = "GET"};
	struct http_answer answer;

	if (plain_path(cli, &call.path) < 0 || cli_connect(cli) < 0 ||
	    http_client_call(cli->client, &call, &answer, cli->err) < 0)
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

static void print_usage(struct cli *cli, const struct json_value *answer)
{
	const struct json_value *items = json_get(answer, "items");
	struct text_table table;

	table_init(&table, cli->arena,
	           (const char *const[]){json_get_text(answer, "group_by", "GROUP"), "ACTIVE",
	                                 "CPU S", "MEMORY GIB S", "STORAGE GIB MONTHS", "USD",
	                                 NULL});
	for (size_t i = 0; i < json_count(items); i++)
		add_row(&table, json_item_at(items, i));
	table_print(&table, stdout, &cli->display);
	if (json_get_text(answer, "next_page", NULL))
		(void)fprintf(stderr, "These are the first " ITEMS_MAX ".\n");
}

static int run_usage(struct cli *cli)
{
	return arguments_has(&cli->args, "csv") ? print_csv(cli) : plain_run(cli);
}

static const struct command_option options[] = {
        {"by", "GROUP",
         "day (default), project, key, user, sandbox, template, run, conversation, reason, label "
         "or total",
         .member = "group_by"},
        {"from", "TIME", "first day, such as 2026-11-01 (default: the first of the month)"},
        {"to", "TIME", "end (default: now)"},
        {"sandbox", "SANDBOX", "only this sandbox; a deleted one by its id",
         .completion = COMPLETE_SANDBOX},
        {"label", "NAME", "with --by label: the label whose values group"},
        {"run", "LABEL", "only this run"},
        {"conversation", "ID", "only this conversation"},
        {"csv", NULL, "as comma-separated values", .member = "format=csv"},
        {0},
};

const struct cli_command command_usage = {
        .name = "usage",
        .usage = "[OPTION...]",
        .about = "show the use of sandboxes and its cost",
        .options = options,
        .operation = "GET /v1/usage?limit=" ITEMS_MAX,
        .run = run_usage,
        .print = print_usage,
};
