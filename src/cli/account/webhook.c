/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/run_options.h"
#include "cli/server.h"
#include "cli/text_out.h"

#define WEBHOOKS "/v1/webhooks"

static const char *yes_or_no(struct arena *a, const struct json_value *value)
{
	(void)a;
	return json_bool(value, false) ? "yes" : "no";
}

static const struct listing_column columns[] = {
        {"ID", "id", NULL},
        {"URL", "url", NULL},
        {"EVENTS", "events", listing_texts},
        {"ENABLED", "enabled", yes_or_no},
        {"WAITING", "waiting", NULL},
        {"DEAD", "dead", NULL},
        {"PROBLEM", "problem", NULL},
        {0},
};
static const struct listing_column delivery_columns[] = {
        {"ID", "id", NULL},         {"KIND", "kind", NULL},
        {"STATE", "state", NULL},   {"TRIES", "attempts", NULL},
        {"STATUS", "status", NULL}, {"NEXT", "next_at", NULL},
        {"ERROR", "error", NULL},   {0},
};

static int webhook_ls(struct cli *cli)
{
	return listing_run(cli, WEBHOOKS, columns);
}

static const char *create_webhook_body(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(64 * 1024);
	const char *const *events = arguments_list(cli, "event");

	buf_addf(&body, "{\"url\":%s", json_quoted(cli->arena, cli->args.words[0]));
	for (unsigned i = 0; events[i]; i++)
		buf_addf(&body, "%s%s", i == 0 ? ",\"events\":[" : ",",
		         json_quoted(cli->arena, events[i]));
	buf_add_text(&body, events[0] ? "]}" : "}");
	return arena_text(cli->arena, buf_text(&body));
}

static int webhook_create(struct cli *cli)
{
	struct server_call call = {
	        .method = "POST", .path = WEBHOOKS, .body = create_webhook_body(cli)};
	const struct json_value *webhook;

	if (cli_connect(cli) < 0 || server_call(cli, &call, &webhook) < 0)
		return -1;
	if (cli->json) {
		print_json(webhook);
		return 0;
	}
	(void)printf("%s\n%s\n", text_out_safe(cli->arena, json_text(json_get(webhook, "id"), "")),
	             text_out_safe(cli->arena, json_text(json_get(webhook, "secret"), "")));
	(void)fprintf(stderr,
	              "The id and the signing secret. Keep the secret: it is not shown again.\n");
	return 0;
}

/* "/v1/webhooks/ID" + suffix. */
static const char *webhook_path(struct cli *cli, const char *suffix)
{
	return escaped_path(cli->arena, WEBHOOKS "/", cli->args.words[0], suffix);
}

static int change_enabled(struct cli *cli, const char *body)
{
	struct server_call call = {.method = "PATCH", .path = webhook_path(cli, ""), .body = body};
	const struct json_value *webhook;

	if (cli_connect(cli) < 0 || server_call(cli, &call, &webhook) < 0)
		return -1;
	if (cli->json)
		print_json(webhook);
	return 0;
}

static int webhook_enable(struct cli *cli)
{
	return change_enabled(cli, "{\"enabled\":true}");
}

static int webhook_disable(struct cli *cli)
{
	return change_enabled(cli, "{\"enabled\":false}");
}

static int webhook_rm(struct cli *cli)
{
	return server_delete(cli, webhook_path(cli, ""), "deleted");
}

static int webhook_deliveries(struct cli *cli)
{
	const char *state = arguments_text(&cli->args, "state", NULL);
	const char *path = webhook_path(cli, "/deliveries");

	if (state)
		path = arena_format(cli->arena, "%s?state=%s", path,
		                    escaped_path(cli->arena, "", state, ""));
	return listing_run(cli, path, delivery_columns);
}

static int webhook_retry(struct cli *cli)
{
	const char *delivery =
	        escaped_path(cli->arena, "/deliveries/", cli->args.words[1], "/retry");
	struct server_call call = {.method = "POST", .path = webhook_path(cli, delivery)};

	if (cli_connect(cli) < 0 || server_call(cli, &call, NULL) < 0)
		return -1;
	if (cli->json)
		(void)printf("{\"retried\":true}\n");
	return 0;
}

static const struct command_option create_options[] = {
        {.name = "event",
         .value = "KIND",
         .repeats = true,
         .about = "kind of events, such as sandbox.failed or sandbox.* (default: all)"},
        {0},
};
static const struct command_option deliveries_options[] = {
        {.name = "state", .value = "STATE", .about = "waiting, delivered or dead"},
        {0},
};

static const struct cli_command list = {
        .name = "ls",
        .usage = "",
        .about = "list the webhooks of the project",
        .run = webhook_ls,
};
static const struct cli_command create = {
        .name = "create",
        .usage = "[OPTION...] URL",
        .about = "send events to a URL; prints the webhook's id and secret",
        .options = create_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = webhook_create,
};
#define ONE_WEBHOOK .arguments_min = 1, .arguments_max = 1
static const struct cli_command enable = {
        .name = "enable",
        .usage = "WEBHOOK",
        .about = "enable a webhook for new events",
        ONE_WEBHOOK,
        .run = webhook_enable,
};
static const struct cli_command disable = {
        .name = "disable",
        .usage = "WEBHOOK",
        .about = "send nothing until the webhook is enabled",
        ONE_WEBHOOK,
        .run = webhook_disable,
};
static const struct cli_command delete = {
        .name = "rm",
        .usage = "WEBHOOK",
        .about = "delete a webhook and its deliveries",
        ONE_WEBHOOK,
        .run = webhook_rm,
};
static const struct cli_command deliveries = {
        .name = "deliveries",
        .usage = "[OPTION...] WEBHOOK",
        .about = "list deliveries: waiting, delivered and dead",
        .options = deliveries_options,
        ONE_WEBHOOK,
        .run = webhook_deliveries,
};
static const struct cli_command retry = {
        .name = "retry",
        .usage = "WEBHOOK DELIVERY",
        .about = "repeat a delivery with all its attempts",
        .arguments_min = 2,
        .arguments_max = 2,
        .run = webhook_retry,
};
static const struct cli_command *const children[] = {&list,   &create,     &enable, &disable,
                                                     &delete, &deliveries, &retry,  NULL};

const struct cli_command command_webhook = {
        .name = "webhook",
        .usage = "COMMAND",
        .about = "manage webhooks, which send events to other servers",
        .children = children,
};
