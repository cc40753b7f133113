/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/account/commands.h"
#include "cli/core/listing.h"
#include "cli/core/body.h"

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

/* The options that say what the budget is for are named like its scopes. */
static const char *const scopes[] = {"key", "sandbox", "run", "label", "conversation"};

static int add_subject(struct cli *cli, struct buf *body)
{
	const char *scope = NULL;

	for (size_t i = 0; i < COUNT_OF(scopes); i++) {
		if (!arguments_text(&cli->args, scopes[i], NULL))
			continue;
		if (scope)
			return FAIL(cli->err, ERROR_INVALID,
			            "a budget has --%s or --%s, not both: make two budgets", scope,
			            scopes[i]);
		scope = scopes[i];
	}
	body_add_text(body, "scope", scope);
	body_add_text(body, "subject", scope ? arguments_text(&cli->args, scope, NULL) : NULL);
	return 0;
}

static const struct command_option create_options[] = {
        {"limit", "USD", "US dollars, such as 10 or 0.5", .member = "limit_usd"},
        {"window", "WINDOW", "month (default), day or total, in UTC"},
        {"warn-at", "PART", "part of the limit at which to warn (0.8)"},
        {"key", "ID", "limit this key instead of the whole project", .member = ""},
        {"sandbox", "SANDBOX", "limit this sandbox only", .completion = COMPLETE_SANDBOX,
         .member = ""},
        {"run", "RUN", "limit calls with this Atoll-Run", .member = ""},
        {"label", "NAME=VALUE", "limit sandboxes with this label together", .member = ""},
        {"conversation", "ID", "limit calls of this conversation", .member = ""},
        {0},
};

static const struct command_option set_options[] = {
        {"limit", "USD", "US dollars, such as 10 or 0.5", .member = "limit_usd"},
        {"warn-at", "PART", "part of the limit at which to warn"},
        {0},
};

static const struct cli_command children[] = {
        {"ls", "", "list the project's budgets and their spending", .operation = "GET /v1/budgets",
         .columns = columns},
        {"create", "--limit USD [OPTION...]", "create a budget and print its id",
         .options = create_options, .operation = "POST /v1/budgets", .fill = add_subject,
         .prints = "id"},
        {"set", "[--limit USD] [--warn-at PART] ID",
         "change a budget; sandboxes that it stopped can then be started again",
         .options = set_options, .operation = "PATCH /v1/budgets/{budget}"},
        {"rm", "ID", "delete a budget", .operation = "DELETE /v1/budgets/{budget}",
         .done = "deleted"},
        {0},
};

const struct cli_command command_budget = {
        .name = "budget",
        .usage = "COMMAND",
        .about = "limit spending: a budget warns first, then stops sandboxes or refuses calls",
        .children = children,
};
