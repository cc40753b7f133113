/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/server.h"
#include "cli/text_out.h"

#define APPROVALS "/v1/approvals"

/* "slack C0123 1700000000.000100": its type, then what says where there. */
static const char *origin_cell(struct arena *a, const struct json_value *value)
{
	const struct json_value *member;
	const char *text = NULL;
	const char *key;

	for (size_t i = 0; (member = json_member_at(value, i, &key)); i++)
		if (json_text(member, NULL))
			text = text ? arena_format(a, "%s %s", text, json_text(member, ""))
			            : json_text(member, "");
	return text;
}

static const struct listing_column columns[] = {
        {"APPROVAL", "id", NULL},        {"STATE", "state", NULL},
        {"TOOL", "tool", NULL},          {"SANDBOX", "sandboxId", NULL},
        {"FROM", "origin", origin_cell}, {"EXPIRES", "expiresAt", NULL},
        {"INPUT", "input", NULL},        {0},
};

static int approval_ls(struct cli *cli)
{
	const char *state = arguments_text(&cli->args, "state", "pending");

	return listing_run(cli, escaped_path(cli->arena, APPROVALS "?state=", state, ""), columns);
}

static int post_decision(struct cli *cli, const char *verdict)
{
	const char *note = arguments_text(&cli->args, "note", NULL);
	struct server_call call = {.method = "POST"};
	const struct json_value *decided;

	if (cli_connect(cli) < 0)
		return -1;
	call.path = escaped_path(cli->arena, APPROVALS "/", cli->args.words[0], verdict);
	call.body = note ? arena_format(cli->arena, "{\"note\":%s}", json_quoted(cli->arena, note))
	                 : "{}";
	if (server_call(cli, &call, &decided) < 0)
		return -1;
	if (cli->json)
		print_json(decided);
	else
		(void)printf("%s\n",
		             text_out_safe(cli->arena, json_text(json_get(decided, "state"), "")));
	return 0;
}

static int approval_approve(struct cli *cli)
{
	return post_decision(cli, "/approve");
}

static int approval_refuse(struct cli *cli)
{
	return post_decision(cli, "/refuse");
}

static const struct command_option ls_options[] = {
        {.name = "state",
         .value = "STATE",
         .about = "pending (the default), approved, refused, used or any"},
        {0},
};
static const struct command_option decide_options[] = {
        {.name = "note", .value = "TEXT", .about = "for who asked"},
        {0},
};
static const struct cli_command list = {
        .name = "ls",
        .usage = "[--state STATE]",
        .about = "list the calls that wait for somebody's word",
        .options = ls_options,
        .run = approval_ls,
};
static const struct cli_command approve = {
        .name = "approve",
        .usage = "[--note TEXT] APPROVAL",
        .about = "let that very call run, once, within a quarter of an hour",
        .options = decide_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = approval_approve,
};
static const struct cli_command refuse = {
        .name = "refuse",
        .usage = "[--note TEXT] APPROVAL",
        .about = "do not let it run",
        .options = decide_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = approval_refuse,
};
static const struct cli_command *const children[] = {&list, &approve, &refuse, NULL};

const struct cli_command command_approval = {
        .name = "approval",
        .usage = "COMMAND",
        .about = "tool calls that need somebody's word",
        .more = "Approving needs another key than the one that made the call.",
        .children = children,
};
