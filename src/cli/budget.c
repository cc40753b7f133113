/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/server.h"
#include "cli/text_out.h"

#define BUDGETS "/v1/budgets"

static int budget_ls(struct cli *cli)
{
	const struct json_value *answer, *items;
	struct table table;

	if (cli_connect(cli) < 0 || server_get(cli, BUDGETS, &answer) < 0)
		return -1;
	items = answer_items(answer);
	if (cli->json) {
		print_json(items);
		return 0;
	}
	table_init(&table, cli->arena,
	           (const char *const[]){"ID", "SCOPE", "SUBJECT", "WINDOW", "SPENT USD", "OF USD",
	                                 "LEVEL", NULL});
	for (size_t i = 0; i < json_count(items); i++) {
		const struct json_value *b = json_at(items, i);

		table_add(&table, json_text(json_get(b, "id"), NULL));
		table_add(&table, json_text(json_get(b, "scope"), NULL));
		table_add(&table, json_text(json_get(b, "subject"), NULL));
		table_add(&table, json_text(json_get(b, "window"), NULL));
		table_add(&table, arena_format(cli->arena, "%.6f",
		                               json_number(json_get(b, "spent_usd"), 0)));
		table_add(&table, arena_format(cli->arena, "%.6f",
		                               json_number(json_get(b, "limit_usd"), 0)));
		table_add(&table, json_text(json_get(b, "level"), NULL));
	}
	table_print(&table, stdout);
	return 0;
}

static const char *create_body(struct cli *cli, double limit_usd, double warn_at)
{
	static const char *const names[] = {"key", "sandbox"};
	AUTO(buf_done) struct buf body = BUF(4096);
	const char *window = arguments_text(&cli->args, "window", NULL);

	buf_addf(&body, "{\"limit_usd\":%.6f", limit_usd);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const char *subject = arguments_text(&cli->args, names[i], NULL);

		if (subject)
			buf_addf(&body, ",\"scope\":\"%s\",\"subject\":%s", names[i],
			         json_quoted(cli->arena, subject));
	}
	if (window)
		buf_addf(&body, ",\"window\":%s", json_quoted(cli->arena, window));
	if (warn_at >= 0)
		buf_addf(&body, ",\"warn_at\":%.2f", warn_at);
	buf_add_byte(&body, '}');
	return arena_text(cli->arena, buf_text(&body));
}

static int budget_create(struct cli *cli)
{
	struct server_call call = {.method = "POST", .path = BUDGETS};
	const struct json_value *made;
	double limit_usd = 0, warn_at = -1;

	if (arguments_has(&cli->args, "key") && arguments_has(&cli->args, "sandbox"))
		return FAIL(cli->err, ERROR_INVALID, "a budget has --key or --sandbox, not both");
	if (!arguments_has(&cli->args, "limit"))
		return FAIL(cli->err, ERROR_INVALID, "--limit USD is needed");
	if (arguments_number(&cli->args, "limit", &limit_usd, cli->err) < 0 ||
	    arguments_number(&cli->args, "warn-at", &warn_at, cli->err) < 0)
		return -1;
	call.body = create_body(cli, limit_usd, warn_at);
	if (cli_connect(cli) < 0 || server_call(cli, &call, &made) < 0)
		return -1;
	if (cli->json)
		print_json(made);
	else
		(void)printf("%s\n", json_text(json_get(made, "id"), ""));
	return 0;
}

static int budget_rm(struct cli *cli)
{
	struct server_call call = {
	        .method = "DELETE",
	        .path = escaped_path(cli->arena, BUDGETS "/", cli->args.words[0], ""),
	};

	if (cli_connect(cli) < 0 || server_call(cli, &call, NULL) < 0)
		return -1;
	if (cli->json)
		(void)printf("{\"deleted\":true}\n");
	return 0;
}

static const struct command_option create_options[] = {
        {.name = "limit", .value = "USD", .about = "US dollars, such as 10 or 0.5"},
        {.name = "window", .value = "WINDOW", .about = "month (the default), day or total; of UTC"},
        {.name = "warn-at", .value = "PART", .about = "warn at this part of it (0.8)"},
        {.name = "key", .value = "ID", .about = "of this key, not of the whole project"},
        {.name = "sandbox",
         .value = "SANDBOX",
         .about = "of this sandbox alone",
         .completion = COMPLETE_SANDBOX},
        {0},
};

static const struct command list = {
        .name = "ls",
        .usage = "",
        .about = "list the project's budgets and what is spent of them",
        .run = budget_ls,
};
static const struct command create = {
        .name = "create",
        .usage = "--limit USD [OPTION...]",
        .about = "set a budget and print its id",
        .options = create_options,
        .run = budget_create,
};
static const struct command remove_budget = {
        .name = "rm",
        .usage = "ID",
        .about = "delete a budget",
        .arguments_min = 1,
        .arguments_max = 1,
        .run = budget_rm,
};
static const struct command *const children[] = {&list, &create, &remove_budget, NULL};

const struct command command_budget = {
        .name = "budget",
        .usage = "COMMAND",
        .about = "say how much may be spent: a budget warns, then stops sandboxes",
        .children = children,
};
