/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "cli/core/body.h"
#include "cli/core/listing.h"
#include "cli/core/resources.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "cli/sandbox/commands.h"

#define BODY_MAX 4096

/* "api.example.com", or the address of a connection without a name. */
static const char *target_cell(struct arena *a, const struct json_value *item)
{
	const char *host = json_get_text(item, "host", NULL);

	return arena_text(a, host ? host : json_get_text(item, "address", "-"));
}

static const struct listing_column log_columns[] = {
        {"AT", "at", NULL},
        {"DECISION", "decision", NULL},
        {"CODE", "code", NULL},
        {"TARGET", NULL, target_cell},
        {"PORT", "port", NULL},
        {"PROTOCOL", "protocol", NULL},
        {"RULE", "rule", NULL},
        {"CREDENTIAL", "credential", NULL},
        {"COUNT", "count", NULL},
        {"IN", "bytes_in", listing_bytes},
        {"OUT", "bytes_out", listing_bytes},
        {0},
};
static const struct listing_column request_columns[] = {
        {"REQUEST", "id", NULL},  {"STATE", "state", NULL},       {"KEY", "keyName", NULL},
        {"INPUT", "input", NULL}, {"EXPIRES", "expiresAt", NULL}, {0},
};
static const struct listing_column preset_columns[] = {
        {"PRESET", "name", NULL},
        {"ABOUT", "about", NULL},
        {"HOSTS", "hosts", listing_texts},
        {0},
};

static const struct command_option log_options[] = {
        {"decision", "DECISION", "denied, allowed or watched"},
        {"host", "HOST", "only this host name or address"},
        {"protocol", "PROTOCOL", "tls, http, dns, tcp, udp or other"},
        {"last", "NUMBER", "only the newest ones", .otherwise = "100"},
        {0},
};
static const struct command_option request_options[] = {
        {"all", NULL, "those that were decided on, too", .member = "all=true"},
        {0},
};
static const struct command_option note_options[] = {
        {"note", "TEXT", "message to the caller"},
        {0},
};
static const struct command_option check_options[] = {
        {"host", "HOST", "a host name or an address"},
        {"port", "PORT", "default: 443"},
        {0},
};

static int decide_request(struct cli *cli, const char *verb)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	const char *path =
	        arena_format(cli->arena, "/egress/requests/%s/%s", cli->args.words[1], verb);
	const struct json_value *answer;

	body_begin(&body);
	body_add_text(&body, "note", arguments_text(&cli->args, "note", NULL));
	if (server_call(cli,
	                &(struct server_call){
	                        .method = "POST",
	                        .path = instance_path(cli->arena, cli->args.words[0], path),
	                        .body = body_end(&body)},
	                &answer) < 0)
		return -1;
	if (cli->json)
		print_json(answer);
	else
		(void)printf("%s\n", json_get_text(answer, "state", ""));
	return 0;
}

static int allow_host(struct cli *cli, const char *host)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	const struct json_value *answer;

	body_begin(&body);
	body_add_text(&body, "host", host);
	if (server_call(cli,
	                &(struct server_call){.method = "POST",
	                                      .path = instance_path(cli->arena, cli->args.words[0],
	                                                            "/egress/allow"),
	                                      .body = body_end(&body)},
	                &answer) < 0)
		return -1;
	if (cli->json)
		print_json(json_get(answer, "egress"));
	else
		(void)printf("%s\n", host);
	return 0;
}

/* The id of a request is no host name: it has no dot. */
static int run_allow(struct cli *cli)
{
	const char *what = cli->args.words[1];

	if (cli_connect(cli) < 0)
		return -1;
	return id_is_valid(what) ? decide_request(cli, "allow") : allow_host(cli, what);
}

static int run_deny(struct cli *cli)
{
	return cli_connect(cli) < 0 ? -1 : decide_request(cli, "deny");
}

static void print_check(UNUSED struct cli *cli, const struct json_value *answer)
{
	(void)printf("%s (%s)\n", json_get_text(answer, "decision", ""),
	             json_get_text(answer, "reason", ""));
}

static const struct cli_command children[] = {
        {"log", "[OPTION...] SANDBOX", "list what the network rules decided",
         .options = log_options, .operation = "GET /api/sandbox/instances/{id}/egress/log",
         .columns = log_columns, .completion = COMPLETE_SANDBOX},
        {"requests", "[--all] SANDBOX", "list the hosts that a sandbox asks for",
         .options = request_options, .operation = "GET /api/sandbox/instances/{id}/egress/requests",
         .columns = request_columns, .completion = COMPLETE_SANDBOX},
        {"allow", "[--note TEXT] SANDBOX REQUEST|HOST",
         "allow a requested host, or any host, and keep the other rules", .options = note_options,
         .arguments_min = 2, .arguments_max = 2, .completion = COMPLETE_SANDBOX, .run = run_allow},
        {"deny", "[--note TEXT] SANDBOX REQUEST", "refuse a requested host",
         .options = note_options, .arguments_min = 2, .arguments_max = 2,
         .completion = COMPLETE_SANDBOX, .run = run_deny},
        {"check", "--host HOST [--port PORT] SANDBOX", "ask whether a connection would be allowed",
         .options = check_options, .operation = "GET /api/sandbox/instances/{id}/egress/check",
         .print = print_check, .completion = COMPLETE_SANDBOX},
        {"preset", "", "list presets of network rules",
         .operation = "GET /api/sandbox/egress/presets", .columns = preset_columns},
        {0},
};

const struct cli_command command_egress = {
        .name = "egress",
        .usage = "COMMAND",
        .about = "see and decide what the network rules of a sandbox refuse",
        .more = "'atoll network' shows and replaces the rules themselves.",
        .children = children,
};
