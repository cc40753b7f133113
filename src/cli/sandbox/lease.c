/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/sandbox/create.h"
#include "cli/listing.h"
#include "cli/run_options.h"
#include "cli/server.h"
#include "cli/text_out.h"

#define LEASES "/v1/leases"

static const char *status_cell(struct arena *a, const struct json_value *lease)
{
	(void)a;
	return json_bool(json_get(lease, "paused"), false)
	               ? "paused"
	               : json_text(json_get(lease, "status"), NULL);
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

static int lease_ls(struct cli *cli)
{
	const char *prefix = arguments_text(&cli->args, "prefix", "");

	return listing_run(cli, escaped_path(cli->arena, LEASES "?limit=1000&prefix=", prefix, ""),
	                   columns);
}

static const char *acquire_body(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(64 * 1024);
	const char *template = arguments_text(&cli->args, "template", NULL);

	buf_addf(&body, "{\"key\":%s", json_quoted(cli->arena, cli->args.words[0]));
	if (template)
		buf_addf(&body, ",\"template\":%s", json_quoted(cli->arena, template));
	if (arguments_has(&cli->args, "no-internet"))
		buf_add_text(&body, ",\"internet\":false");
	if (arguments_has(&cli->args, "persistent"))
		buf_add_text(&body, ",\"persistent\":true");
	if (arguments_has(&cli->args, "update"))
		buf_add_text(&body, ",\"update\":true");
	if (arguments_has(&cli->args, "fresh"))
		buf_add_text(&body, ",\"continue\":false");
	buf_add_byte(&body, '}');
	return arena_text(cli->arena, buf_text(&body));
}

static int call_and_print(struct cli *cli, const struct server_call *call)
{
	const struct json_value *lease;

	if (cli_connect(cli) < 0 || server_call(cli, call, &lease) < 0)
		return -1;
	if (cli->json)
		print_json(lease);
	else
		(void)printf("%s\n", json_text(json_get(lease, "sandbox_id"), ""));
	return 0;
}

static int lease_acquire(struct cli *cli)
{
	const struct server_call call = {
	        .method = "POST", .path = LEASES "/acquire", .body = acquire_body(cli)};

	return call_and_print(cli, &call);
}

static int lease_keep(struct cli *cli)
{
	int64_t for_ms = 0;

	if (arguments_duration(&cli->args, "for", &for_ms, cli->err) < 0)
		return -1;
	const struct server_call call = {
	        .method = "POST",
	        .path = escaped_path(cli->arena, LEASES "/", cli->args.words[0], "/keepalive"),
	        .body = arena_format(cli->arena, "{\"timeoutMs\":%lld}", (long long)for_ms),
	};

	return call_and_print(cli, &call);
}

static int lease_release(struct cli *cli)
{
	const struct server_call call = {
	        .method = "POST",
	        .path = escaped_path(cli->arena, LEASES "/", cli->args.words[0], "/release"),
	};

	return call_and_print(cli, &call);
}

static int lease_pause(struct cli *cli)
{
	const struct server_call call = {
	        .method = "POST",
	        .path = escaped_path(cli->arena, LEASES "/", cli->args.words[0], "/pause"),
	};

	return call_and_print(cli, &call);
}

static int remove_prefix(struct cli *cli, const char *prefix, int64_t *count)
{
	const struct server_call call = {
	        .method = "DELETE",
	        .path = escaped_path(cli->arena, LEASES "?prefix=", prefix, ""),
	};
	const struct json_value *answer;

	if (server_call(cli, &call, &answer) < 0)
		return -1;
	*count += json_whole(json_get(answer, "deleted"), 0);
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

static const struct command_option prefix_options[] = {
        {.name = "prefix", .value = "TEXT", .about = "all leases whose keys begin with TEXT"},
        {0},
};
static const struct command_option acquire_options[] = {
        OPTION_TEMPLATE,
        OPTION_NO_INTERNET,
        {.name = "persistent", .about = "exempt the sandbox from idle timeouts"},
        {.name = "fresh", .about = "use a sandbox with unused files"},
        {.name = "update", .about = "replace a sandbox that was made with other options"},
        {0},
};
static const struct command_option keep_options[] = {
        {.name = "for",
         .value = "DURATION",
         .about = "how long the sandbox does not count as idle, such as 10m"},
        {0},
};

static const struct cli_command list = {
        .name = "ls",
        .usage = "[--prefix TEXT]",
        .about = "list leases by key",
        .options = prefix_options,
        .run = lease_ls,
};
static const struct cli_command acquire = {
        .name = "acquire",
        .usage = "[OPTION...] KEY",
        .about = "find, start or make the key's sandbox and print its id",
        .options = acquire_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = lease_acquire,
};
static const struct cli_command keep = {
        .name = "keep",
        .usage = "[--for DURATION] KEY",
        .about = "restart the idle time of the key's sandbox",
        .options = keep_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .run = lease_keep,
};
static const struct cli_command release = {
        .name = "release",
        .usage = "KEY",
        .about = "end the use of a key's sandbox; it stays warm",
        .arguments_min = 1,
        .arguments_max = 1,
        .run = lease_release,
};
static const struct cli_command pause_lease = {
        .name = "pause",
        .usage = "KEY",
        .about = "end the use of a key's sandbox and pause it until its next use",
        .arguments_min = 1,
        .arguments_max = 1,
        .run = lease_pause,
};
static const struct cli_command remove_lease = {
        .name = "rm",
        .usage = "KEY... | --prefix TEXT",
        .about = "delete leases and their sandboxes",
        .options = prefix_options,
        .arguments_max = ANY_NUMBER,
        .run = lease_rm,
};
static const struct cli_command *const children[] = {&list,        &acquire,      &keep, &release,
                                                     &pause_lease, &remove_lease, NULL};

const struct cli_command command_lease = {
        .name = "lease",
        .usage = "COMMAND",
        .about = "manage leases: one warm sandbox per key of a user, workspace or chat",
        .children = children,
};
