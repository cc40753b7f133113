/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/tool/commands.h"
#include "cli/core/listing.h"

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

static const struct command_option ls_options[] = {
        {"state", "STATE", "pending (the default), approved, refused, used or any",
         .otherwise = "pending"},
        {0},
};
static const struct command_option decide_options[] = {
        {"note", "TEXT", "message to the caller"},
        {0},
};
static const struct cli_command children[] = {
        {"ls", "[--state STATE]", "list the calls that wait for approval", .options = ls_options,
         .operation = "GET /v1/approvals", .columns = columns},
        {"approve", "[--note TEXT] APPROVAL", "allow this one call to run once within 15 minutes",
         .options = decide_options, .operation = "POST /v1/approvals/{approval}/approve",
         .prints = "state"},
        {"refuse", "[--note TEXT] APPROVAL", "refuse a call", .options = decide_options,
         .operation = "POST /v1/approvals/{approval}/refuse", .prints = "state"},
        {0},
};

const struct cli_command command_approval = {
        .name = "approval",
        .usage = "COMMAND",
        .about = "manage tool calls that need approval",
        .more = "The approving key must differ from the key that made the call.",
        .children = children,
};
