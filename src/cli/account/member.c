/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/account/commands.h"
#include "cli/core/listing.h"

static const struct listing_column columns[] = {
        {"USER", "user", NULL},
        {"ROLE", "role", NULL},
        {"SINCE", "created_at", NULL},
        {0},
};

#define OPTION_PROJECT                                                                             \
	{                                                                                          \
		"project", "PROJECT", "project (default: the key's own)", .otherwise = "me"        \
	}

static const struct command_option project_options[] = {OPTION_PROJECT, {0}};
static const struct command_option role_options[] = {
        {"role", "ROLE", "viewer, member or admin"},
        OPTION_PROJECT,
        {0},
};

static const struct cli_command children[] = {
        {"ls", "[--project PROJECT]", "list a project's members", .options = project_options,
         .operation = "GET /v1/projects/{project}/members", .columns = columns},
        {"add", "--role ROLE USER", "add a user, by id or e-mail address", .options = role_options,
         .operation = "POST /v1/projects/{project}/members", .word = "user"},
        {"set", "--role ROLE USER", "change a member's role, which also limits the member's keys",
         .options = role_options, .operation = "PATCH /v1/projects/{project}/members/{user}"},
        {"rm", "USER", "remove a member and revoke the member's keys", .options = project_options,
         .operation = "DELETE /v1/projects/{project}/members/{user}", .done = "removed"},
        {0},
};

const struct cli_command command_member = {
        .name = "member",
        .usage = "COMMAND",
        .about = "list, add, change and remove a project's members",
        .children = children,
};
