/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/core/listing.h"
#include "cli/core/plain.h"
#include "cli/core/text_out.h"
#include "cli/server/commands.h"

static const char *state_cell(struct arena *a UNUSED, const struct json_value *p)
{
	if (!json_get_bool(p, "connected", false))
		return "not connected";
	return json_get_bool(p, "healthy", false) ? "healthy" : "unhealthy";
}

static const char *sandboxes_cell(struct arena *a, const struct json_value *p)
{
	long long count = (long long)json_get_whole(p, "sandboxes", 0);
	long long max = (long long)json_get_whole(p, "max_sandboxes", 0);

	return max > 0 ? arena_format(a, "%lld of %lld", count, max)
	               : arena_format(a, "%lld", count);
}

static const struct listing_column columns[] = {
        {"NAME", "name", NULL},
        {"KIND", "kind", NULL},
        {"ISOLATION", "isolation", NULL},
        {"STATE", NULL, state_cell},
        {"SANDBOXES", NULL, sandboxes_cell},
        {"CREATES", "creates", NULL},
        {"FAILURES", "failures", NULL},
        {"P50 MS", "p50_ms", NULL},
        {"P99 MS", "p99_ms", NULL},
        {"LAST ERROR", "last_error", NULL},
        {0},
};

static int provider_ls(struct cli *cli)
{
	return listing_run(cli, "/v1/providers", columns);
}

static void print_check(struct cli *cli, const struct json_value *answer)
{
	(void)printf("%s made a sandbox and ended it in %.1f ms\n",
	             text_out_safe(cli->arena, json_get_text(answer, "name", "")),
	             json_number(json_get(answer, "took_ms"), 0));
}

static const struct cli_command children[] = {
        {"ls", "", "list the providers of the server with their health", .run = provider_ls},
        {"check", "PROVIDER", "make a sandbox with a provider and end it", .arguments_min = 1,
         .arguments_max = 1, .operation = "POST /v1/providers/{name}/check", .print = print_check},
        {0},
};

const struct cli_command command_provider = {
        .name = "provider",
        .usage = "COMMAND",
        .about = "show and check the providers of the server",
        .children = children,
};
