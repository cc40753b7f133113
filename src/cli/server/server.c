/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/core/listing.h"
#include "cli/core/table.h"
#include "cli/core/text_out.h"
#include "cli/server/commands.h"

static const char *age_cell(struct arena *a, const struct json_value *value)
{
	int64_t age_ms = json_whole(value, -1);

	return age_ms < 0 ? NULL : text_out_duration(a, age_ms);
}

static const struct listing_column node_columns[] = {
        {"NODE", "node", NULL},
        {"STATE", "state", NULL},
        {"HEARTBEAT", "heartbeat_age_ms", age_cell},
        {"URL", "url", NULL},
        {"SELF", "self", listing_yes},
        {0},
};

static void print_head(struct cli *cli, const struct json_value *answer)
{
	const struct json_value *metrics = json_get(answer, "metrics");
	const struct json_value *store = json_get(metrics, "store");

	(void)printf("version    %s (%s)\n", json_get_text(answer, "version", "?"),
	             json_get_text(answer, "build", "?"));
	(void)printf("uptime     %s\n",
	             text_out_duration(cli->arena, json_get_whole(answer, "uptime_ms", 0)));
	(void)printf("readiness  %s", json_get_text(answer, "readiness", "?"));
	if (json_get_text(answer, "reason", NULL))
		(void)printf(": %s\n           %s", json_get_text(answer, "reason", ""),
		             json_get_text(answer, "cure", ""));
	(void)printf("\nstore      %.3g ms on average, at most %.3g ms for 99 of 100 calls\n",
	             json_number(json_get(store, "mean_ms"), 0),
	             json_number(json_get(store, "p99_ms"), 0));
	(void)printf("requests   %" PRId64 ", of these %" PRId64 " failed on the server\n",
	             json_get_whole(json_get(metrics, "requests"), "count", 0),
	             json_get_whole(metrics, "responses_5xx", 0));
	(void)printf("streams    %" PRId64 "\n", json_get_whole(metrics, "streams", 0));
	(void)printf(
	        "pools      %" PRId64 " of %" PRId64 " ready, %" PRId64 " hits, %" PRId64
	        " misses\n\n",
	        json_get_whole(metrics, "pool_ready", 0), json_get_whole(metrics, "pool_target", 0),
	        json_get_whole(metrics, "pool_hits", 0), json_get_whole(metrics, "pool_misses", 0));
}

/* Options with their default are left out unless --all is given. */
static void print_options(struct cli *cli, const struct json_value *options)
{
	struct text_table table;

	table_init(&table, cli->arena, (const char *const[]){"OPTION", "VALUE", "SOURCE", NULL});
	for (size_t i = 0; i < json_count(options); i++) {
		const struct json_value *option = json_item_at(options, i);
		const char *source = json_get_text(option, "source", "");

		if (strcmp(source, "default") == 0 && !arguments_has(&cli->args, "all"))
			continue;
		table_add(&table, json_get_text(option, "name", NULL));
		table_add(&table, json_get_text(option, "value", NULL));
		table_add(&table, source);
	}
	table_print(&table, stdout, &cli->display);
}

static void print_server(struct cli *cli, const struct json_value *answer)
{
	print_head(cli, answer);
	listing_print(cli, json_get(answer, "nodes"), node_columns);
	(void)printf("\n");
	print_options(cli, json_get(answer, "configuration"));
}

static const struct command_option options[] = {
        {"all", NULL, "print the options that have their default, too", .letter = 'a',
         .member = ""},
        {0},
};

const struct cli_command command_server = {
        .name = "server",
        .usage = "[--all]",
        .about = "show version, readiness, nodes, options and load of the server",
        .more = "Needs a key with the scope admin.",
        .options = options,
        .operation = "GET /v1/server",
        .print = print_server,
};
