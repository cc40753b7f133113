/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/account/commands.h"
#include "cli/account/password.h"
#include "cli/core/listing.h"

static const struct listing_column columns[] = {
        {"EMAIL", "email", NULL},
        {"NAME", "name", NULL},
        {"ADMIN", "is_admin", NULL},
        {"DISABLED", "is_disabled", NULL},
        {"LAST SIGN-IN", "last_used_at", NULL},
        {0},
};
static const struct listing_column session_columns[] = {
        {"ID", "id", NULL},
        {"ADDRESS", "address", NULL},
        {"BROWSER", "user_agent", NULL},
        {"SINCE", "created_at", NULL},
        {"LAST USED", "last_used_at", NULL},
        {0},
};

static const struct command_option add_options[] = {
        {"name", "NAME", "name of the person"},
        {"admin", NULL, "an admin of the whole server", .member = "is_admin"},
        {"password", NULL, "ask for a password, or read it from standard input, instead of a link",
         .member = ""},
        {0},
};
static const struct command_option invite_options[] = {
        {"role", "ROLE", "viewer, member or admin"},
        {"project", "PROJECT", "project (default: the key's own)", .otherwise = "me"},
        {0},
};

/* The link alone on stdout, so that a script can read it. */
static void print_link(UNUSED struct cli *cli, const struct json_value *made)
{
	const char *link = json_get_text(made, "link", NULL);

	if (!link) {
		(void)printf("%s\n", json_get_text(made, "email", ""));
		return;
	}
	(void)printf("%s\n", link);
	(void)fprintf(stderr, "Send it to %s: it works once and is not shown again.\n",
	              json_get_text(made, "email", ""));
}

static int fill_user(struct cli *cli, struct buf *body)
{
	return arguments_has(&cli->args, "password") ? password_ask(cli, body, "password") : 0;
}

static int fill_password(struct cli *cli, struct buf *body)
{
	return password_ask(cli, body, "new");
}

static const struct cli_command children[] = {
        {"ls", "", "list the users of the server", .operation = "GET /v1/users?limit=1000",
         .columns = columns},
        {"add", "[OPTION...] EMAIL",
         "make a user and print the link with which the person sets a password",
         .options = add_options, .operation = "POST /v1/users", .word = "email", .fill = fill_user,
         .print = print_link},
        {"invite", "--role ROLE EMAIL", "print a link by which a person joins a project, once",
         .options = invite_options, .operation = "POST /v1/projects/{project}/invitations",
         .word = "email", .print = print_link},
        {"link", "EMAIL", "print a link with which a user sets a new password, once",
         .operation = "POST /v1/users/{user}/link", .print = print_link},
        {"password", "EMAIL", "set a user's password, from the terminal or standard input",
         .operation = "POST /v1/users/{user}/password", .fill = fill_password, .done = "set"},
        {"disable", "EMAIL", "let a user do nothing: sessions end, keys lose their scopes",
         .operation = "PATCH /v1/users/{user}", .fixed = "is_disabled=true", .done = "disabled"},
        {"enable", "EMAIL", "take that back", .operation = "PATCH /v1/users/{user}",
         .fixed = "is_disabled=false", .done = "enabled"},
        {"rm", "EMAIL", "remove a user, the memberships and the keys of these",
         .operation = "DELETE /v1/users/{user}", .done = "removed"},
        {"sessions", "EMAIL", "list a user's sessions in browsers",
         .operation = "GET /v1/users/{user}/sessions", .columns = session_columns},
        {"sign-out", "EMAIL", "end all sessions of a user",
         .operation = "DELETE /v1/users/{user}/sessions", .done = "signed_out"},
        {0},
};

const struct cli_command command_user = {
        .name = "user",
        .usage = "COMMAND",
        .about = "list, add, invite, disable and remove the people who sign in",
        .children = children,
};
