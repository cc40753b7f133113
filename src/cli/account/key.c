/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/body.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/run_options.h"
#include "cli/server.h"
#include "cli/text_out.h"

#define BODY_MAX 65536

static const struct listing_column columns[] = {
        {"ID", "id", NULL},
        {"NAME", "name", NULL},
        {"KEY", "prefix", NULL},
        {"SCOPES", "scopes", listing_texts},
        {"MEMBER", "member", NULL},
        {"LAST USED", "last_used_at", NULL},
        {"EXPIRES", "expires_at", NULL},
        {"REVOKED", "revoked_at", NULL},
        {0},
};

static int key_ls(struct cli *cli)
{
	return listing_run(cli, KEYS, columns);
}

/* Prints only the key to stdout, so that a script can read it. */
static void print_made(struct cli *cli, const struct json_value *key)
{
	if (cli->json) {
		print_json(key);
		return;
	}
	(void)printf(
	        "%s\n",
	        json_text(json_get(key, arguments_has(&cli->args, "e2b") ? "e2b_key" : "key"), ""));
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
	return server_delete(cli, escaped_path(cli->arena, KEYS "/", cli->args.words[0], ""),
	                     "revoked");
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
		(void)printf("%lld values are encrypted with the new key\n",
		             (long long)json_whole(json_get(answer, "resealed"), 0));
	return 0;
}

static const struct command_option create_options[] = {
        {.name = "scope",
         .value = "SCOPE",
         .repeats = true,
         .about = "sandbox:read, sandbox:write, template:write, key:write, project:write or "
                  "admin"},
        {.name = "member", .value = "USER", .about = "owner of the key, whose role limits it"},
        {.name = "expires",
         .value = "DURATION",
         .about = "lifetime, such as 30d (default: unlimited)"},
        {.name = "e2b", .about = "print the key in the form of E2B's SDKs: \"e2b_\" and digits"},
        {0},
};
static const struct command_option rotate_options[] = {
        {.name = "grace",
         .value = "DURATION",
         .about = "how long the old key stays valid, at most 7d (default: not at all)"},
        {.name = "e2b", .about = "print the key in the form of E2B's SDKs"},
        {0},
};

static const struct cli_command list = {
        .name = "ls",
        .usage = "",
        .about = "list the keys of the project",
        .run = key_ls,
};
static const struct cli_command create = {
        .name = "create",
        .usage = "[OPTION...] NAME",
        .about = "make a key and print it; it is not shown again",
        .options = create_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = key_create,
};
static const struct cli_command revoke_key = {
        .name = "revoke",
        .usage = "ID",
        .about = "revoke a key immediately",
        .arguments_min = 1,
        .arguments_max = 1,
        .run = key_revoke,
};
static const struct cli_command rotate_secrets = {
        .name = "rotate-secrets",
        .usage = "",
        .about = "encrypt all stored environments with a new key",
        .more = "For the operator: needs a key with the scope admin. May be repeated; one that "
                "was\n"
                "interrupted has lost nothing. See docs/operate/storage.md.",
        .run = key_rotate_secrets,
};
static const struct cli_command rotate = {
        .name = "rotate",
        .usage = "[--grace DURATION] ID",
        .about = "replace the secret of a key and print the new key",
        .options = rotate_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = key_rotate,
};
static const struct cli_command *const children[] = {&list,       &create,         &rotate,
                                                     &revoke_key, &rotate_secrets, NULL};

const struct cli_command command_key = {
        .name = "key",
        .usage = "COMMAND",
        .about = "list, make, rotate and revoke API keys",
        .children = children,
};
