/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/sandbox/commands.h"
#include "cli/sandbox/create.h"
#include "cli/core/body.h"
#include "cli/core/listing.h"
#include "cli/core/run_options.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "json/write.h"

#define LEASES "/v1/leases"

static const char *status_cell(UNUSED struct arena *a, const struct json_value *lease)
{
	return json_get_bool(lease, "paused", false) ? "paused"
	                                             : json_get_text(lease, "status", NULL);
}

static const char *used_cell(struct arena *a, const struct json_value *seconds)
{
	return text_out_duration(a, 1000 * json_whole(seconds, 0));
}

static const struct listing_column columns[] = {
        {"KEY", "key", NULL},
        {"STATUS", NULL, status_cell},
        {"SANDBOX", "sandbox_id", NULL},
        {"USED", "total_usage_seconds", used_cell},
        {"LAST USED", "last_activity_at", NULL},
        {0},
};

static int remove_prefix(struct cli *cli, const char *prefix, int64_t *count)
{
	const struct server_call call = {
	        .method = "DELETE",
	        .path = escaped_path(cli->arena, LEASES "?prefix=", prefix, ""),
	};
	const struct json_value *answer;

	if (server_call(cli, &call, &answer) < 0)
		return -1;
	*count += json_get_whole(answer, "deleted", 0);
	return 0;
}

static int lease_rm(struct cli *cli)
{
	const char *prefix = arguments_text(&cli->args, "prefix", NULL);
	struct server_call call = {.method = "DELETE"};
	int64_t count = 0;

	if (!prefix == (cli->args.count == 0))
		return FAIL(cli->err, ERROR_INVALID, "give either keys or --prefix");
	if (cli_connect(cli) < 0 || (prefix && remove_prefix(cli, prefix, &count) < 0))
		return -1;
	for (const char *const *key = cli->args.words; *key; key++, count++) {
		call.path = escaped_path(cli->arena, LEASES "/", *key, "");
		if (server_call(cli, &call, NULL) < 0)
			return FAIL_CONTEXT(cli->err, "remove lease '%s'", *key);
	}
	(void)printf(cli->json ? "{\"removed\":%lld}\n" : "%lld removed\n", (long long)count);
	return 0;
}

static int lease_acquire(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(4u * 1024 * 1024);
	struct server_call call = {.method = "POST", .path = LEASES "/acquire"};
	const struct json_value *lease;
	struct create_options make;

	if (create_options_parse(cli, &make) < 0)
		return -1;
	make.env = arguments_list(cli, "env");
	body_begin(&body);
	body_add_text(&body, "key", cli->args.words[0]);
	if (arguments_has(&cli->args, "fresh"))
		json_add_bool(&body, "continue", false);
	if (arguments_has(&cli->args, "update"))
		json_add_bool(&body, "update", true);
	if (create_add(cli->arena, &make, &body, cli->err) < 0)
		return -1;
	call.body = body_end(&body);
	if (cli_connect(cli) < 0 || server_call(cli, &call, &lease) < 0)
		return -1;
	if (cli->json)
		print_json(lease);
	else
		(void)printf("%s\n",
		             text_out_safe(cli->arena, json_get_text(lease, "sandbox_id", "")));
	return 0;
}

static const struct command_option prefix_options[] = {
        {"prefix", "TEXT", "all leases whose keys begin with TEXT", .otherwise = ""},
        {0},
};
static const struct command_option acquire_options[] = {
        OPTION_TEMPLATE_OR_IMAGE,
        OPTION_PULL,
        OPTION_SNAPSHOT,
        OPTION_CONFIG,
        OPTION_ENV,
        OPTIONS_RESOURCES,
        OPTIONS_PROVIDER,
        OPTION_VOLUME,
        OPTION_WORKSPACE,
        OPTION_NO_INTERNET,
        OPTION_GPUS,
        OPTIONS_EGRESS,
        {"persistent", NULL, "exempt the sandbox from idle timeouts"},
        {"fresh", NULL, "use a sandbox with unused files"},
        {"update", NULL, "replace a sandbox that was made with other options"},
        {0},
};
static const struct command_option keep_options[] = {
        {"for", "DURATION", "how long the sandbox does not count as idle, such as 10m",
         .member = "timeoutMs"},
        {0},
};

static const struct cli_command children[] = {
        {"ls", "[--prefix TEXT]", "list leases by key", .options = prefix_options,
         .operation = "GET /v1/leases?limit=1000", .columns = columns},
        {"acquire", "[OPTION...] KEY", "find, start or make the key's sandbox and print its id",
         .options = acquire_options, .arguments_min = 1, .arguments_max = 1, .run = lease_acquire},
        {"keep", "[--for DURATION] KEY", "restart the idle time of the key's sandbox",
         .options = keep_options, .operation = "POST /v1/leases/{key}/keepalive",
         .prints = "sandbox_id"},
        {"release", "KEY", "end the use of a key's sandbox; it stays warm",
         .operation = "POST /v1/leases/{key}/release", .prints = "sandbox_id"},
        {"pause", "KEY", "end the use of a key's sandbox and pause it until its next use",
         .operation = "POST /v1/leases/{key}/pause", .prints = "sandbox_id"},
        {"rm", "KEY... | --prefix TEXT", "delete leases and their sandboxes",
         .options = prefix_options, .arguments_max = ANY_NUMBER, .run = lease_rm},
        {0},
};

const struct cli_command command_lease = {
        .name = "lease",
        .usage = "COMMAND",
        .about = "manage leases: one warm sandbox per key of a user, workspace or chat",
        .children = children,
};
