/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/server.h"
#include "cli/text_out.h"

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
	table_init(
	        &table, cli->arena,
	        (const char *const[]){"ID", "NAME", "KEY", "SCOPES", "LAST USED", "REVOKED", NULL});
	for (size_t i = 0; i < json_count(items); i++) {
		const struct json_value *key = json_at(items, i);

		table_add(&table, json_text(json_get(key, "id"), NULL));
		table_add(&table, json_text(json_get(key, "name"), NULL));
		table_add(&table, json_text(json_get(key, "prefix"), NULL));
		table_add(&table, scopes_of(cli->arena, key));
		table_add(&table, json_text(json_get(key, "last_used_at"), NULL));
		table_add(&table, json_text(json_get(key, "revoked_at"), NULL));
	}
	table_print(&table, stdout);
	return 0;
}

static const char *create_key_body(struct cli *cli, int64_t expires_ms)
{
	AUTO(buf_done) struct buf body = BUF(64 * 1024);
	const char *const *scopes = arguments_list(cli, "scope");

	buf_addf(&body, "{\"name\":%s", json_quoted(cli->arena, cli->args.words[0]));
	for (unsigned i = 0; scopes[i]; i++)
		buf_addf(&body, "%s%s", i == 0 ? ",\"scopes\":[" : ",",
		         json_quoted(cli->arena, scopes[i]));
	if (scopes[0])
		buf_add_byte(&body, ']');
	if (expires_ms > 0)
		buf_addf(&body, ",\"expires_in_ms\":%lld", (long long)expires_ms);
	buf_add_byte(&body, '}');
	return arena_text(cli->arena, buf_text(&body));
}

static int key_create(struct cli *cli)
{
	struct server_call call = {.method = "POST", .path = KEYS};
	const struct json_value *key;
	int64_t expires_ms = 0;

	if (arguments_duration(&cli->args, "expires", &expires_ms, cli->err) < 0)
		return -1;
	call.body = create_key_body(cli, expires_ms);
	if (cli_connect(cli) < 0 || server_call(cli, &call, &key) < 0)
		return -1;
	if (cli->json) {
		print_json(key);
		return 0;
	}
	(void)printf("%s\n", json_text(json_get(key, "key"), ""));
	(void)fprintf(stderr, "Keep it: it is not shown again.\n");
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
         .about = "sandbox:read, sandbox:write, template:write, key:write or admin"},
        {.name = "expires", .value = "DURATION", .about = "such as 30d; else never"},
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
static const struct command *const children[] = {&list, &create, &revoke_key, &rotate_secrets,
                                                 NULL};

const struct command command_key = {
        .name = "key",
        .usage = "COMMAND",
        .about = "list, make and revoke API keys",
        .children = children,
};
