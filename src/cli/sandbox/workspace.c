/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/core/listing.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "cli/sandbox/commands.h"

#define WORKSPACES "/v1/workspaces"

static const char *used_cell(struct arena *a, const struct json_value *bytes)
{
	double used = json_number(bytes, -1);

	return used < 0 ? NULL : text_out_bytes(a, used);
}

static const char *sandboxes_cell(struct arena *a, const struct json_value *ids)
{
	const char *text = NULL;

	for (size_t i = 0; i < json_count(ids); i++)
		text = arena_format(a, "%s%s%s", text ? text : "", text ? " " : "",
		                    json_text(json_item_at(ids, i), ""));
	return text;
}

static const struct listing_column columns[] = {
        {"NAME", "name", NULL},
        {"USED", "used_bytes", used_cell},
        {"CREATED", "created_at", NULL},
        {"SANDBOXES", "sandboxes", sandboxes_cell},
        {0},
};

static int workspace_rm(struct cli *cli)
{
	struct server_call call = {.method = "DELETE"};

	if (cli_connect(cli) < 0)
		return -1;
	for (const char *const *name = cli->args.words; *name; name++) {
		call.path = escaped_path(cli->arena, WORKSPACES "/", *name, "");
		if (server_call(cli, &call, NULL) < 0)
			return FAIL_CONTEXT(cli->err, "remove workspace '%s'", *name);
	}
	(void)printf(cli->json ? "{\"removed\":%u}\n" : "%u removed\n", cli->args.count);
	return 0;
}

static const struct cli_command children[] = {
        {"ls", "", "list workspaces by name", .operation = "GET /v1/workspaces",
         .columns = columns},
        {"rm", "WORKSPACE...", "delete workspaces, their files and the sandboxes reserved for them",
         .arguments_min = 1, .arguments_max = ANY_NUMBER, .run = workspace_rm},
        {0},
};

const struct cli_command command_workspace = {
        .name = "workspace",
        .usage = "COMMAND",
        .about = "manage workspaces: files that calls and sandboxes share by a name",
        .more = "The first use of --workspace NAME makes a workspace. 'atoll volume' also shows "
                "it, "
                "as workspace-NAME.",
        .children = children,
};
