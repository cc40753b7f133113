/* SPDX-License-Identifier: Apache-2.0 */
/* `atoll run --dry-run`: the values that the sandbox would have, and where each comes from. */
#include <stdio.h>

#include "cli/core/server.h"
#include "cli/core/table.h"
#include "cli/core/text_out.h"
#include "cli/sandbox/create.h"
#include "json/json.h"

static void add_choices(struct text_table *table, const struct json_value *choices)
{
	for (size_t i = 0; i < json_count(choices); i++) {
		const struct json_value *row = json_item_at(choices, i);

		table_add(table, json_get_text(row, "name", ""));
		table_add(table, json_get_text(row, "value", ""));
		table_add(table, json_get_text(row, "source", ""));
	}
}

static void add_values(struct text_table *table, const struct json_value *values)
{
	struct arena *a = table->arena;

	for (size_t i = 0; i < json_count(values); i++) {
		const struct json_value *row = json_item_at(values, i);
		const char *source = json_get_text(row, "source", "");
		const char *cap = json_get_text(row, "lowered_by", NULL);

		if (cap)
			source = arena_format(a, "%s, lowered from %.10g by %s", source,
			                      json_number(json_get(row, "wanted"), 0), cap);
		table_add(table, json_get_text(row, "name", ""));
		table_add(table, arena_format(a, "%.10g", json_number(json_get(row, "value"), 0)));
		table_add(table, source);
	}
}

static void print_plan(struct cli *cli, const struct json_value *plan)
{
	struct text_table table;

	table_init(&table, cli->arena, (const char *const[]){"VALUE", "IS", "FROM", NULL});
	add_choices(&table, json_get(plan, "choices"));
	add_values(&table, json_get(plan, "values"));
	table_print(&table, stdout, &cli->display);
	(void)printf("%.6f USD an hour\n", json_number(json_get(plan, "price_per_hour_usd"), 0));
	if (!json_get_bool(plan, "template_ready", true))
		(void)fprintf(stderr, "The create waits until the template is built.\n");
}

int plan_sandbox(struct cli *cli, const struct create_options *options)
{
	struct server_call call = {.method = "POST", .path = INSTANCES "?dry_run=true"};
	const struct json_value *plan;

	if (create_body(cli->arena, options, &call.body, cli->err) < 0 ||
	    server_call(cli, &call, &plan) < 0)
		return -1;
	if (cli->json)
		print_json(plan);
	else
		print_plan(cli, plan);
	return 0;
}
