/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/body.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/server.h"
#include "cli/text_out.h"

#define BODY_MAX 65536

static const char *scopes_of(struct arena *a, const struct json_value *key)
{
	const struct json_value *scopes = json_get(key, "scopes");
	const char *text = "";

	for (size_t i = 0; i < json_count(scopes); i++)
		text = arena_format(a, "%s%s%s", text, i > 0 ? "," : "",
		                    json_text(json_at(scopes, i), ""));
	return text;
}

static int key_ls(struct cli *cli)
{
	const struct json_value *answer, *items;
	struct table table;

	if (cli_connect(cli) < 0 || server_get(cli, KEYS, &answer) < 0)
		return -1;
	items = answer_items(answer);
	if (cli->json) {
		print_json(items);
		return 0;
	}
	table_init(&table, cli->arena,
	           (const char *const[]){"ID", "NAME", "KEY", "SCOPES", "MEMBER", "LAST USED",
	                                 "EXPIRES", "REVOKED", NULL});
	for (size_t i = 0; i < json_count(items); i++) {
		const struct json_value *key = json_at(items, i);

		table_add(&table, json_text(json_get(key, "id"), NULL));
		table_add(&table, json_text(json_get(key, "name"), NULL));
		table_add(&table, json_text(json_get(key, "prefix"), NULL));
		table_add(&table, scopes_of(cli->arena, key));
		table_add(&table, json_text(json_get(key, "member"), NULL));
		table_add(&table, json_text(json_get(key, "last_used_at"), NULL));
		table_add(&table, json_text(json_get(key, "expires_at"), NULL));
		table_add(&table, json_text(json_get(key, "revoked_at"), NULL));
	}
	table_print(&table, stdout);
	return 0;
}

/* The text alone, so that a script can take it. */
static void print_made(struct cli *cli, const struct json_value *key)
{
	if (cli->json) {
		print_json(key);
		return;
	}
	(void)printf("%s\n", json_text(json_get(key, "key"), ""));
	(void)fprintf(stderr, "Keep it: it is not shown again.\n");
}

static int key_create(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct server_call call = {.method = "POST", .path = KEYS};
	const struct json_value *key;
	int64_t expires_ms = 0;

	if (arguments_duration(&cli->args, "expires", &expires_ms, cli->err) < 0)
		return -1;
	body_begin(&body);
	body_add_text(&body, "name", cli->args.words[0]);
	body_add_texts(&body, "scopes", arguments_list(cli, "scope"));
	body_add_text(&body, "member", arguments_text(&cli->args, "member", NULL));
	if (expires_ms > 0)
		body_add_whole(&body, "expires_in_ms", expires_ms);
	call.body = body_end(&body);
	if (cli_connect(cli) < 0 || server_call(cli, &call, &key) < 0)
		return -1;
	print_made(cli, key);
	return 0;
}

static int key_rotate(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct server_call call = {
	        .method = "POST",
	        .path = escaped_path(cli->arena, KEYS "/", cli->args.words[0], "/rotate"),
	};
	const struct json_value *key;
	int64_t grace_ms = 0;

	if (arguments_duration(&cli->args, "grace", &grace_ms, cli->err) < 0)
		return -1;
	body_begin(&body);
	body_add_whole(&body, "grace_ms", grace_ms);
	call.body = body_end(&body);
	if (cli_connect(cli) < 0 || server_call(cli, &call, &key) < 0)
		return -1;
	print_made(cli, key);
	return 0;
}

static int key_revoke(struct cli *cli)
{
	struct server_call call = {
	        .method = "DELETE",
	        .path = escaped_path(cli->arena, KEYS "/", cli->args.words[0], ""),
	};

	if (cli_connect(cli) < 0 || server_call(cli, &call, NULL) < 0)
		return -1;
	if (cli->json)
		(void)printf("{\"revoked\":true}\n");
	return 0;
}

static int key_rotate_secrets(struct cli *cli)
{
	struct server_call call = {.method = "POST", .path = SECRETS "/rotate"};
	const struct json_value *answer;

	if (cli_connect(cli) < 0 || server_call(cli, &call, &answer) < 0)
		return -1;
	if (cli->json)
		print_json(answer);
	else
		(void)printf("%lld values are under a new key\n",
		             (long long)json_whole(json_get(answer, "resealed"), 0));
	return 0;
}

static const struct command_option create_options[] = {
        {.name = "scope",
         .value = "SCOPE",
         .repeats = true,
         .about = "sandbox:read, sandbox:write, template:write, key:write, project:write or "
                  "admin"},
        {.name = "member",
         .value = "USER",
         .about = "whom it belongs to: it never does more than his role allows"},
        {.name = "expires", .value = "DURATION", .about = "such as 30d; else never"},
        {0},
};
static const struct command_option rotate_options[] = {
        {.name = "grace",
         .value = "DURATION",
         .about = "how long the old text is valid still, at most 7d; else no longer"},
        {0},
};

static const struct command list = {
        .name = "ls",
        .usage = "",
        .about = "list the keys of the project",
        .run = key_ls,
};
static const struct command create = {
        .name = "create",
        .usage = "[OPTION...] NAME",
        .about = "make a key and print it, once",
        .options = create_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = key_create,
};
static const struct command revoke_key = {
        .name = "revoke",
        .usage = "ID",
        .about = "make a key useless, at once",
        .arguments_min = 1,
        .arguments_max = 1,
        .run = key_revoke,
};
static const struct command rotate_secrets = {
        .name = "rotate-secrets",
        .usage = "",
        .about = "encrypt all stored environments with a new key",
        .more = "For the operator: needs a key with the scope admin. May be repeated; one that "
                "was\n"
                "interrupted has lost nothing. See docs/storage.md.",
        .run = key_rotate_secrets,
};
static const struct command rotate = {
        .name = "rotate",
        .usage = "[--grace DURATION] ID",
        .about = "give a key a new text and print it, once",
        .options = rotate_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = key_rotate,
};
static const struct command *const children[] = {&list,       &create,         &rotate,
                                                 &revoke_key, &rotate_secrets, NULL};

const struct command command_key = {
        .name = "key",
        .usage = "COMMAND",
        .about = "list, make, rotate and revoke API keys",
        .children = children,
};
