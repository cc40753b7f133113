/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/body.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/server.h"
#include "cli/text_out.h"

#define BODY_MAX 65536
#define OWN_PROJECT "me"

/* "…/members", or the path of one member. */
static const char *members_path(struct cli *cli, const char *user)
{
	const char *project = arguments_text(&cli->args, "project", OWN_PROJECT);
	const char *path = escaped_path(cli->arena, PROJECTS "/", project, "/members");

	if (!user)
		return path;
	return escaped_path(cli->arena, arena_format(cli->arena, "%s/", path), user, "");
}

static const struct listing_column columns[] = {
        {"USER", "user", NULL},
        {"ROLE", "role", NULL},
        {"SINCE", "created_at", NULL},
        {0},
};

static int member_ls(struct cli *cli)
{
	return listing_run(cli, members_path(cli, NULL), columns);
}

static int send_member(struct cli *cli, struct server_call *call, const char *user)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	const char *role = arguments_text(&cli->args, "role", NULL);
	const struct json_value *member;

	if (!role) {
		(void)FAIL(cli->err, ERROR_INVALID, "no role is given");
		error_hint(cli->err, "--role viewer, member or admin");
		return -1;
	}
	body_begin(&body);
	body_add_text(&body, "user", user);
	body_add_text(&body, "role", role);
	call->body = body_end(&body);
	if (cli_connect(cli) < 0 || server_call(cli, call, &member) < 0)
		return -1;
	if (cli->json)
		print_json(member);
	return 0;
}

static int member_add(struct cli *cli)
{
	struct server_call call = {.method = "POST", .path = members_path(cli, NULL)};

	return send_member(cli, &call, cli->args.words[0]);
}

static int member_set(struct cli *cli)
{
	struct server_call call = {.method = "PATCH",
	                           .path = members_path(cli, cli->args.words[0])};

	return send_member(cli, &call, NULL);
}

static int member_rm(struct cli *cli)
{
	return server_delete(cli, members_path(cli, cli->args.words[0]), "removed");
}

#define OPTION_PROJECT                                                                             \
	{                                                                                          \
		.name = "project", .value = "PROJECT", .about = "project (default: the key's own)" \
	}

static const struct command_option project_options[] = {OPTION_PROJECT, {0}};
static const struct command_option role_options[] = {
        {.name = "role", .value = "ROLE", .about = "viewer, member or admin"},
        OPTION_PROJECT,
        {0},
};

static const struct cli_command list = {
        .name = "ls",
        .usage = "[--project PROJECT]",
        .about = "list a project's members",
        .options = project_options,
        .run = member_ls,
};
static const struct cli_command add = {
        .name = "add",
        .usage = "--role ROLE USER",
        .about = "add a user, by id or e-mail address",
        .options = role_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = member_add,
};
static const struct cli_command set = {
        .name = "set",
        .usage = "--role ROLE USER",
        .about = "change a member's role, which also limits the member's keys",
        .options = role_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = member_set,
};
static const struct cli_command remove_it = {
        .name = "rm",
        .usage = "USER",
        .about = "remove a member and revoke the member's keys",
        .options = project_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = member_rm,
};
static const struct cli_command *const children[] = {&list, &add, &set, &remove_it, NULL};

const struct cli_command command_member = {
        .name = "member",
        .usage = "COMMAND",
        .about = "list, add, change and remove a project's members",
        .children = children,
};
