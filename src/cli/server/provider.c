/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/core/body.h"
#include "cli/core/listing.h"
#include "cli/core/plain.h"
#include "cli/core/text_out.h"
#include "cli/server/commands.h"
#include "json/json.h"
#include "json/write.h"

static const char *state_cell(struct arena *a UNUSED, const struct json_value *p)
{
	if (!json_get_bool(p, "connected", false))
		return "not connected";
	if (json_get_bool(p, "draining", false))
		return "draining";
	if (json_get_bool(p, "slow", false))
		return "slow";
	return json_get_bool(p, "healthy", false) ? "healthy" : "unhealthy";
}

static const char *sandboxes_cell(struct arena *a, const struct json_value *p)
{
	long long count = (long long)json_get_whole(p, "sandboxes", 0);
	long long max = (long long)json_get_whole(p, "max_sandboxes", 0);

	return max > 0 ? arena_format(a, "%lld of %lld", count, max)
	               : arena_format(a, "%lld", count);
}

/* "0.25 of 10.00" of this month, or of today when only the day has a limit. */
static const char *cost_cell(struct arena *a, const struct json_value *p)
{
	double day_max = json_number(json_get(p, "max_cost_day"), 0);
	double month_max = json_number(json_get(p, "max_cost_month"), 0);
	bool is_day = month_max <= 0 && day_max > 0;
	double cost = json_number(json_get(p, is_day ? "cost_day" : "cost_month"), 0);
	double max = is_day ? day_max : month_max;

	if (json_number(json_get(p, "price_hour"), 0) <= 0)
		return NULL;
	return max > 0 ? arena_format(a, "%.2f of %.2f a %s", cost, max, is_day ? "day" : "month")
	               : arena_format(a, "%.2f a month", cost);
}

static const char *warm_cell(struct arena *a, const struct json_value *p)
{
	const struct json_value *warm = json_get(p, "warm");
	long long hits = json_get_whole(warm, "hits", 0),
	          misses = json_get_whole(warm, "misses", 0);

	if (!json_get(warm, "wanted"))
		return NULL;
	return arena_format(a, "%lld of %lld, %lld/%lld hits",
	                    (long long)json_get_whole(warm, "ready", 0),
	                    (long long)json_get_whole(warm, "wanted", 0), hits, hits + misses);
}

static const struct listing_column columns[] = {
        {"NAME", "name", NULL},
        {"KIND", "kind", NULL},
        {"ISOLATION", "isolation", NULL},
        {"STATE", NULL, state_cell},
        {"ACCELERATOR", "accelerator", NULL},
        {"SANDBOXES", NULL, sandboxes_cell},
        {"WARM", NULL, warm_cell},
        {"COST USD", NULL, cost_cell},
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
	const char *accelerator = json_get_text(answer, "accelerator", "");
	if (*accelerator)
		(void)printf("its accelerator is %s: %s\n", text_out_safe(cli->arena, accelerator),
		             text_out_safe(cli->arena,
		                           json_get_text(answer, "accelerator_because", "")));
}

static int add_settings(struct cli *cli, struct buf *body)
{
	const char *text;

	if (!arguments_has(&cli->args, "set"))
		return 0;
	json_begin_object(body, "settings");
	for (unsigned i = 0; (text = arguments_text_at(&cli->args, "set", i)); i++)
		if (body_add_setting(body, text, cli->err) < 0)
			return FAIL_CONTEXT(cli->err, "--set");
	json_end_object(body);
	return 0;
}

static const struct command_option add_options[] = {
        {"kind", "KIND", "kind of the provider, see 'atoll provider kinds' (default: the name)"},
        {"set", "KEY=VALUE",
         "a setting or an option of the kind; KEY=@FILE reads the value from a file",
         .repeats = true, .member = ""},
        {0},
};

static const struct command_option set_options[] = {
        {"set", "KEY=VALUE",
         "a setting or an option of the kind; KEY=@FILE reads the value from a file, KEY= returns "
         "to the default",
         .repeats = true, .member = ""},
        {0},
};

static const struct command_option remove_options[] = {
        {"drain", NULL, "make no more sandboxes, and remove the provider after its last one"},
        {0},
};

static void print_removal(struct cli *cli, const struct json_value *answer)
{
	const char *name = text_out_safe(cli->arena, json_get_text(answer, "name", ""));

	if (json_get_bool(answer, "removed", false))
		(void)printf("%s is removed\n", name);
	else
		(void)printf("%s drains: it is removed after its last sandbox; it has %lld\n", name,
		             (long long)json_get_whole(answer, "sandboxes", 0));
}

static const char *options_cell(struct arena *a, const struct json_value *kind)
{
	const struct json_value *options = json_get(kind, "options");
	const char *names = NULL;

	for (size_t i = 0; i < json_count(options); i++) {
		const struct json_value *o = json_item_at(options, i);

		names = arena_format(a, "%s%s%s%s", names ? names : "", names ? ", " : "",
		                     json_get_text(o, "name", ""),
		                     json_get_bool(o, "secret", false) ? " (secret)" : "");
	}
	return names;
}

static const struct listing_column kind_columns[] = {
        {"KIND", "kind", NULL},
        {"ISOLATION", "isolation", NULL},
        {"OPTIONS", NULL, options_cell},
        {0},
};

static const struct cli_command children[] = {
        {"add", "NAME [--kind KIND] [--set KEY=VALUE...]",
         "add a provider to every server on this store", .options = add_options,
         .operation = "POST /v1/providers", .word = "name", .fill = add_settings, .prints = "name"},
        {"set", "PROVIDER --set KEY=VALUE...",
         "change settings and secrets of a provider that was added, on every server on this store",
         .options = set_options, .operation = "PATCH /v1/providers/{name}", .fill = add_settings},
        {"rm", "[--drain] PROVIDER",
         "remove a provider that was added; refused while it has sandboxes",
         .options = remove_options, .operation = "DELETE /v1/providers/{name}",
         .print = print_removal},
        {"kinds", "", "list the kinds of providers and their options",
         .operation = "GET /v1/providers/kinds", .columns = kind_columns},
        {"ls", "", "list the providers of the server with their health", .run = provider_ls},
        {"check", "PROVIDER", "make a sandbox with a provider and end it", .arguments_min = 1,
         .arguments_max = 1, .operation = "POST /v1/providers/{name}/check", .print = print_check},
        {0},
};

const struct cli_command command_provider = {
        .name = "provider",
        .usage = "COMMAND",
        .about = "show, check, add and remove the providers of the server",
        .children = children,
};
