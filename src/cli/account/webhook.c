/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/account/commands.h"
#include "cli/core/listing.h"
#include "cli/core/text_out.h"

static const char *yes_or_no(UNUSED struct arena *a, const struct json_value *value)
{
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

/* "/v1/webhooks/ID" + suffix. */
static void print_made(struct cli *cli, const struct json_value *webhook)
{
	(void)printf("%s\n%s\n", text_out_safe(cli->arena, json_get_text(webhook, "id", "")),
	             text_out_safe(cli->arena, json_get_text(webhook, "secret", "")));
	(void)fprintf(stderr,
	              "The id and the signing secret. Keep the secret: it is not shown again.\n");
}

static const struct command_option create_options[] = {
        {"event", "KIND", "kind of events, such as sandbox.failed or sandbox.* (default: all)",
         .repeats = true, .member = "events"},
        {0},
};
static const struct command_option deliveries_options[] = {
        {"state", "STATE", "waiting, delivered or dead"},
        {0},
};

static const struct cli_command children[] = {
        {"ls", "", "list the webhooks of the project", .operation = "GET /v1/webhooks",
         .columns = columns},
        {"create", "[OPTION...] URL", "send events to a URL; prints the webhook's id and secret",
         .options = create_options, .operation = "POST /v1/webhooks", .word = "url",
         .print = print_made},
        {"enable", "WEBHOOK", "enable a webhook for new events",
         .operation = "PATCH /v1/webhooks/{webhook}", .fixed = "enabled=true"},
        {"disable", "WEBHOOK", "send nothing until the webhook is enabled",
         .operation = "PATCH /v1/webhooks/{webhook}", .fixed = "enabled=false"},
        {"test", "WEBHOOK", "send a test event once and print the receiver's answer",
         .operation = "POST /v1/webhooks/{webhook}/test", .prints = "*"},
        {"rm", "WEBHOOK", "delete a webhook and its deliveries",
         .operation = "DELETE /v1/webhooks/{webhook}", .done = "deleted"},
        {"deliveries", "[OPTION...] WEBHOOK", "list deliveries: waiting, delivered and dead",
         .options = deliveries_options, .operation = "GET /v1/webhooks/{webhook}/deliveries",
         .columns = delivery_columns},
        {"retry", "WEBHOOK DELIVERY", "repeat a delivery with all its attempts",
         .operation = "POST /v1/webhooks/{webhook}/deliveries/{delivery}/retry", .done = "retried"},
        {"retry-all", "WEBHOOK", "repeat the dead deliveries of a webhook, at most 1000 per call",
         .operation = "POST /v1/webhooks/{webhook}/deliveries/retry", .prints = "*"},
        {0},
};

const struct cli_command command_webhook = {
        .name = "webhook",
        .usage = "COMMAND",
        .about = "manage webhooks, which send events to other servers",
        .children = children,
};
