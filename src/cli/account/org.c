/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/account/commands.h"
#include "cli/core/listing.h"

static const struct listing_column columns[] = {
        {"ID", "id", NULL},
        {"NAME", "name", NULL},
        {"SINCE", "created_at", NULL},
        {0},
};
static const struct listing_column member_columns[] = {
        {"USER", "user", NULL},
        {"ROLE", "role", NULL},
        {"SINCE", "created_at", NULL},
        {0},
};

static const struct command_option add_options[] = {
        {"owner", "EMAIL", "user who becomes the first owner"},
        {0},
};
static const struct command_option role_options[] = {
        {"role", "ROLE", "member, admin or owner"},
        {0},
};

static const struct cli_command children[] = {
        {"ls", "", "list organisations", .operation = "GET /v1/organizations", .columns = columns},
        {"add", "--owner EMAIL NAME", "make an organisation and print its id",
         .options = add_options, .operation = "POST /v1/organizations", .word = "name",
         .prints = "id"},
        {"rename", "ORGANISATION NAME", "give an organisation another name",
         .operation = "PATCH /v1/organizations/{organization}", .word = "name"},
        {"rm", "ORGANISATION", "delete an organisation without projects",
         .operation = "DELETE /v1/organizations/{organization}", .done = "removed"},
        {"members", "ORGANISATION", "list an organisation's members",
         .operation = "GET /v1/organizations/{organization}/members", .columns = member_columns},
        {"set-member", "--role ROLE ORGANISATION EMAIL", "add a member, or change its role",
         .options = role_options, .operation = "PUT /v1/organizations/{organization}/members",
         .word = "user"},
        {"rm-member", "ORGANISATION EMAIL", "remove a member",
         .operation = "DELETE /v1/organizations/{organization}/members/{user}", .done = "removed"},
        {0},
};

const struct cli_command command_org = {
        .name = "org",
        .usage = "COMMAND",
        .about = "list, make, rename and remove organisations, and their members",
        .more = "A key needs the scope 'admin' of the server. An organisation owns projects: see\n"
                "'atoll project'.",
        .children = children,
};
