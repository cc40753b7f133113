/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/sandbox/commands.h"
#include "cli/core/listing.h"
#include "cli/sandbox/sandboxes.h"
#include "cli/core/server.h"
#include "cli/core/table.h"
#include "cli/core/text_out.h"

#define COMMAND_MAX 4096 /* characters of a command that are shown */

/* A sandbox that was paused for a full disk must not look like one that rests. */
static const char *state_note(const struct json_value *sandbox)
{
	bool is_paused = strcmp(json_get_text(sandbox, "state", ""), "paused") == 0;
	bool is_of_build = sandbox_is_of_build(sandbox);

	if (is_paused && strcmp(json_get_text(sandbox, "reason", ""), "disk") == 0)
		return " (disk)";
	if (strcmp(json_get_text(sandbox, "agent", ""), "unresponsive") == 0)
		return is_of_build ? " (build, unresponsive)" : " (unresponsive)";
	return is_of_build ? " (build)" : "";
}

static void add_row(struct text_table *t, const struct json_value *sandbox)
{
	const struct json_value *resources = json_get(sandbox, "resources");
	struct arena *a = t->arena;

	table_add(t, json_get_text(sandbox, "id", NULL));
	table_add(t, json_get_text(sandbox, "name", NULL));
	table_add(t, json_get_text(sandbox, "template", NULL));
	table_add(t, arena_format(a, "%s%s", json_get_text(sandbox, "state", "-"),
	                          state_note(sandbox)));
	table_add(t, arena_format(a, "%g", json_number(json_get(resources, "cpu"), 0)));
	table_add(t, arena_format(a, "%lld MiB",
	                          (long long)json_get_whole(resources, "memory_mb", 0)));
	table_add(t, json_get_whole(sandbox, "uptime_ms", 0) > 0
	                     ? text_out_duration(a, json_get_whole(sandbox, "uptime_ms", 0))
	                     : NULL);
	table_add(t, json_get_text(json_get(sandbox, "last_event"), "text", NULL));
}

static void print_table(struct cli *cli, const struct sandbox_names *found)
{
	struct text_table table;

	table_init(&table, cli->arena,
	           (const char *const[]){"ID", "NAME", "TEMPLATE", "STATE", "CPU", "MEMORY",
	                                 "UPTIME", "LAST EVENT", NULL});
	for (size_t i = 0; i < found->count; i++)
		add_row(&table, found->items[i]);
	table_print(&table, stdout, &cli->display);
}

static void print_all_json(const struct sandbox_names *found)
{
	AUTO(buf_done) struct buf text = BUF(256 * 1024 * 1024);

	buf_add_byte(&text, '[');
	for (size_t i = 0; i < found->count; i++) {
		buf_add_text(&text, i > 0 ? ",\n" : "\n");
		json_print(&text, found->items[i], 2);
	}
	buf_add_text(&text, "\n]\n");
	(void)fputs(buf_text(&text), stdout);
}

static const char *exit_cell(struct arena *a, const struct json_value *process)
{
	const char *signal = json_get_text(process, "signal", NULL);

	if (strcmp(json_get_text(process, "state", ""), "ended") != 0)
		return NULL;
	return signal ? signal
	              : arena_format(a, "%" PRId64, json_get_whole(process, "exit_code", 0));
}

static const char *command_cell(struct arena *a, const struct json_value *args)
{
	AUTO(buf_done) struct buf text = BUF(COMMAND_MAX);

	for (size_t i = 0; i < json_count(args) && !text.overflowed; i++)
		buf_addf(&text, "%s%s", i > 0 ? " " : "", json_text(json_item_at(args, i), ""));
	return arena_copy(a, buf_span(&text));
}

static const struct listing_column command_columns[] = {
        {"PROCESS", "process", NULL},
        {"STATE", "state", NULL},
        {"EXIT", NULL, exit_cell},
        {"STARTED", "started_at", NULL},
        {"USER", "user", NULL},
        {"LABEL", "label", NULL},
        {"COMMAND", "args", command_cell},
        {0},
};

/* Options whose value is a condition of the list. */
static const struct {
	const char *option, *parameter;
} conditions[] = {
        {"state", "state"},       {"search", "q"},
        {"label", "label"},       {"template", "template"},
        {"provider", "provider"}, {"isolation", "isolation"},
        {"region", "region"},     {"created-by", "created_by"},
        {"sort", "sort"},
};

static const char *format_conditions(struct cli *cli)
{
	const char *query = "", *value;

	for (size_t i = 0; i < COUNT_OF(conditions); i++)
		for (unsigned j = 0;
		     (value = arguments_text_at(&cli->args, conditions[i].option, j)); j++)
			query = escaped_path(
			        cli->arena,
			        arena_format(cli->arena, "%s&%s=", query, conditions[i].parameter),
			        value, "");
	return query;
}

/* Without a condition on the state only those that live are shown. */
static int list_wanted(struct cli *cli, struct sandbox_names *ret)
{
	bool all = arguments_has(&cli->args, "all");
	const struct sandbox_choice choice = {
	        .conditions = format_conditions(cli),
	        .has_ended = all || arguments_has(&cli->args, "state"),
	        .is_of_builds = all,
	};

	return sandboxes_choose(cli, &choice, ret);
}

static int run_ps(struct cli *cli)
{
	const char *sandbox = cli->args.words[0];
	bool only_names = arguments_has(&cli->args, "names");
	struct sandbox_names found;

	if (sandbox)
		return listing_run(cli, instance_path(cli->arena, sandbox, "/processes"),
		                   command_columns);
	if (only_names && !server_is_there(cli))
		return 0;
	if (cli_connect(cli) < 0 || list_wanted(cli, &found) < 0)
		return -1;
	if (cli->json)
		print_all_json(&found);
	else if (!only_names)
		print_table(cli, &found);
	for (size_t i = 0; only_names && i < found.count; i++)
		(void)printf("%s\n", json_get_text(found.items[i], "name", ""));
	return 0;
}

static const struct command_option options[] = {
        {"all", NULL, "include stopped and failed sandboxes and those of builds", .letter = 'a'},
        {"state", "STATE", "only sandboxes in this state", .repeats = true},
        {"search", "TEXT", "only those with TEXT in their name, id or a label", .letter = 'q'},
        {"label", "KEY=VALUE", "only those with this label", .letter = 'l', .repeats = true},
        {"template", "NAME", "only those of this template", .letter = 't',
         .completion = COMPLETE_TEMPLATE},
        {"provider", "NAME", "only those of this provider"},
        {"isolation", "NAME", "only those with this isolation"},
        {"region", "NAME", "only those with this region"},
        {"created-by", "ID", "only those made by this key or user; me: by the caller"},
        {"sort", "ORDER", "created, last_activity, name or state; -name: descending"},
        {"names", NULL, "print only names, for completion; does not start a server"},
        {0},
};

const struct cli_command command_ps = {
        .name = "ps",
        .usage = "[OPTION...] | SANDBOX",
        .about = "list sandboxes, or the commands started in SANDBOX",
        .options = options,
        .arguments_max = 1,
        .completion = COMPLETE_SANDBOX,
        .run = run_ps,
};
