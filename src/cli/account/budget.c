/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/server.h"
#include "cli/text_out.h"

#define BUDGETS "/v1/budgets"

static const struct listing_column columns[] = {
        {"ID", "id", NULL},
        {"SCOPE", "scope", NULL},
        {"SUBJECT", "subject", NULL},
        {"WINDOW", "window", NULL},
        {"SPENT USD", "spent_usd", listing_usd},
        {"OF USD", "limit_usd", listing_usd},
        {"LEVEL", "level", NULL},
        {0},
};

static int budget_ls(struct cli *cli)
{
	return listing_run(cli, BUDGETS, columns);
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

static int budget_set(struct cli *cli)
{
	struct server_call call = {
	        .method = "PATCH",
	        .path = escaped_path(cli->arena, BUDGETS "/", cli->args.words[0], "")};
	const struct json_value *changed;
	double limit_usd = -1, warn_at = -1;

	if (arguments_number(&cli->args, "limit", &limit_usd, cli->err) < 0 ||
	    arguments_number(&cli->args, "warn-at", &warn_at, cli->err) < 0)
		return -1;
	if (limit_usd < 0 && warn_at < 0)
		return FAIL(cli->err, ERROR_INVALID, "give --limit, --warn-at or both");
	call.body = arena_format(
	        cli->arena, "{%s%s%s}",
	        limit_usd < 0 ? "" : arena_format(cli->arena, "\"limit_usd\":%.6f", limit_usd),
	        limit_usd < 0 || warn_at < 0 ? "" : ",",
	        warn_at < 0 ? "" : arena_format(cli->arena, "\"warn_at\":%.2f", warn_at));
	if (cli_connect(cli) < 0 || server_call(cli, &call, &changed) < 0)
		return -1;
	if (cli->json)
		print_json(changed);
	return 0;
}

static int budget_rm(struct cli *cli)
{
	return server_delete(cli, escaped_path(cli->arena, BUDGETS "/", cli->args.words[0], ""),
	                     "deleted");
}

static const struct command_option create_options[] = {
        {.name = "limit", .value = "USD", .about = "US dollars, such as 10 or 0.5"},
        {.name = "window", .value = "WINDOW", .about = "month (default), day or total, in UTC"},
        {.name = "warn-at", .value = "PART", .about = "part of the limit at which to warn (0.8)"},
        {.name = "key", .value = "ID", .about = "limit this key instead of the whole project"},
        {.name = "sandbox",
         .value = "SANDBOX",
         .about = "limit this sandbox only",
         .completion = COMPLETE_SANDBOX},
        {0},
};

static const struct command_option set_options[] = {
        {.name = "limit", .value = "USD", .about = "US dollars, such as 10 or 0.5"},
        {.name = "warn-at", .value = "PART", .about = "part of the limit at which to warn"},
        {0},
};

static const struct cli_command list = {
        .name = "ls",
        .usage = "",
        .about = "list the project's budgets and their spending",
        .run = budget_ls,
};
static const struct cli_command create = {
        .name = "create",
        .usage = "--limit USD [OPTION...]",
        .about = "create a budget and print its id",
        .options = create_options,
        .run = budget_create,
};
static const struct cli_command set = {
        .name = "set",
        .usage = "[--limit USD] [--warn-at PART] ID",
        .about = "change a budget; sandboxes that it stopped can then be started again",
        .options = set_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = budget_set,
};
static const struct cli_command remove_budget = {
        .name = "rm",
        .usage = "ID",
        .about = "delete a budget",
        .arguments_min = 1,
        .arguments_max = 1,
        .run = budget_rm,
};
static const struct cli_command *const children[] = {&list, &create, &set, &remove_budget, NULL};

const struct cli_command command_budget = {
        .name = "budget",
        .usage = "COMMAND",
        .about = "limit spending: a budget warns first, then stops sandboxes",
        .children = children,
};
