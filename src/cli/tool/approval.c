/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/server.h"
#include "cli/text_out.h"

#define APPROVALS "/v1/approvals"

/* "slack C0123 1700000000.000100": the origin's type and its address there. */
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
        {.name = "note", .value = "TEXT", .about = "message to the caller"},
        {0},
};
static const struct cli_command list = {
        .name = "ls",
        .usage = "[--state STATE]",
        .about = "list the calls that wait for approval",
        .options = ls_options,
        .run = approval_ls,
};
static const struct cli_command approve = {
        .name = "approve",
        .usage = "[--note TEXT] APPROVAL",
        .about = "allow this one call to run once within 15 minutes",
        .options = decide_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = approval_approve,
};
static const struct cli_command refuse = {
        .name = "refuse",
        .usage = "[--note TEXT] APPROVAL",
        .about = "refuse a call",
        .options = decide_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = approval_refuse,
};
static const struct cli_command *const children[] = {&list, &approve, &refuse, NULL};

const struct cli_command command_approval = {
        .name = "approval",
        .usage = "COMMAND",
        .about = "manage tool calls that need approval",
        .more = "The approving key must differ from the key that made the call.",
        .children = children,
};
