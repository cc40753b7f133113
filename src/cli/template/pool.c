/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/template/commands.h"
#include "cli/core/listing.h"
#include "cli/core/plain.h"
#include "cli/core/text_out.h"
#include "cli/template/template.h"
#include "json/write.h"

#define POOLS "/api/sandbox/pools"
#define POOL_MAX 256

static const char *name_cell(struct arena *a, const struct json_value *pool)
{
	const char *template = json_get_text(pool, "template", "");

	return json_get_bool(pool, "automatic", false) ? arena_format(a, "%s (automatic)", template)
	                                               : template;
}

static const struct listing_column columns[] = {
        {"TEMPLATE", NULL, name_cell}, {"MIN", "min", NULL},     {"TARGET", "target", NULL},
        {"MAX", "max", NULL},          {"READY", "ready", NULL}, {"HITS", "hits", NULL},
        {"MISSES", "misses", NULL},    {"STATE", "state", NULL}, {0},
};

/* Printed to stderr, so that programs read only the table on stdout. */
static void print_problem(struct arena *a, const struct json_value *pool)
{
	const struct json_value *problem = json_get(pool, "problem");

	if (!json_get(problem, "message"))
		return;
	(void)fprintf(stderr, "%s: %s\n  -> %s\n", text_out_safe(a, name_cell(a, pool)),
	              text_out_safe(a, json_get_text(problem, "message", "")),
	              text_out_safe(a, json_get_text(problem, "hint", "")));
}

static int pool_ls(struct cli *cli)
{
	const struct json_value *answer, *items;

	if (cli->json)
		return listing_run(cli, POOLS, columns);
	if (cli_connect(cli) < 0 || server_get(cli, POOLS, &answer) < 0)
		return -1;
	items = answer_items(answer);
	listing_print(cli, items, columns);
	for (size_t i = 0; i < json_count(items); i++)
		print_problem(cli->arena, json_item_at(items, i));
	return 0;
}

int pool_size_add(struct buf *body, const char *text, struct error *err)
{
	static const char *const members[] = {"target", "min", "max"};
	struct span rest = span_of(text), part;
	unsigned count = 0;
	bool more = true;

	while (more) {
		int64_t value;

		more = span_split(&rest, ':', &part);
		if (count == COUNT_OF(members))
			return FAIL(err, ERROR_INVALID, "'%.64s' is not TARGET[:MIN[:MAX]]", text);
		if (span_parse_whole(part, 0, POOL_MAX, &value, err) < 0)
			return FAIL_CONTEXT(err, "%s of '%.64s'", members[count], text);
		json_add_whole(body, members[count], value);
		count++;
	}
	return 0;
}

static int add_size(struct cli *cli, struct buf *body)
{
	return pool_size_add(body, cli->args.words[1], cli->err);
}

static void print_pool(struct cli *cli, const struct json_value *pool)
{
	(void)printf("%s: target %lld, min %lld, max %lld\n",
	             text_out_safe(cli->arena, cli->args.words[0]),
	             (long long)json_get_whole(pool, "target", 0),
	             (long long)json_get_whole(pool, "min", 0),
	             (long long)json_get_whole(pool, "max", 0));
}

static int pool_set(struct cli *cli)
{
	if (plain_run(cli) < 0)
		return FAIL_CONTEXT(cli->err, "set the pool of '%.64s'", cli->args.words[0]);
	return 0;
}

static const struct cli_command children[] = {
        {"ls", "", "list pools with their hits and misses", .run = pool_ls},
        {"set", "TEMPLATE TARGET[:MIN[:MAX]]",
         "set the number of ready sandboxes of a template; 0 = none",
         .more = "The pool holds TARGET sandboxes while it is used and MIN (default TARGET) while "
                 "it\n"
                 "is not. It grows to MAX (default twice TARGET) when creates find it empty.",
         .arguments_min = 2, .arguments_max = 2, .completion = COMPLETE_TEMPLATE,
         .operation = "PUT /api/sandbox/pools/{template}", .run = pool_set, .fill = add_size,
         .print = print_pool},
        {0},
};

const struct cli_command command_pool = {
        .name = "pool",
        .usage = "COMMAND",
        .about = "manage pools: sandboxes that are made ready in advance",
        .children = children,
};
