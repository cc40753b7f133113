/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/files/commands.h"
#include "cli/core/server.h"
#include "cli/files/path_argument.h"
#include "cli/core/table.h"
#include "cli/core/text_out.h"

static char type_letter(const char *type)
{
	if (strcmp(type, "directory") == 0)
		return 'd';
	if (strcmp(type, "symlink") == 0)
		return 'l';
	return strcmp(type, "file") == 0 ? '-' : '?';
}

static const char *shown_name(struct arena *a, const struct json_value *entry)
{
	const char *link = json_get_text(entry, "link", NULL);
	const char *path = json_get_text(entry, "path", "");
	const char *name = json_get_text(entry, "name", path);

	return link && link[0] ? arena_format(a, "%s -> %s", name, link) : name;
}

static void add_row(struct text_table *t, const struct json_value *entry)
{
	const char *type = json_get_text(entry, "type", "");

	table_add(t, arena_format(t->arena, "%c%s", type_letter(type),
	                          json_get_text(entry, "mode", "")));
	table_add(t, arena_format(t->arena, "%lld", (long long)json_get_whole(entry, "uid", 0)));
	table_add(t, text_out_bytes(t->arena, json_number(json_get(entry, "size"), 0)));
	table_add(t, json_get_text(entry, "modified_at", NULL));
	table_add(t, shown_name(t->arena, entry));
}

static int run_ls(struct cli *cli)
{
	struct path_argument target;
	const struct json_value *answer, *items;
	struct text_table table;
	const char *path;

	if (path_argument_parse(cli->arena, cli->args.words[0], &target, cli->err) < 0)
		return -1;
	if (!target.sandbox) /* "atoll ls SANDBOX" lists its project folder */
		target = (struct path_argument){.sandbox = target.path, .path = ""};
	path = escaped_path(cli->arena, "/files?path=", target.path[0] ? target.path : ".", "");
	if (cli_connect(cli) < 0 ||
	    server_get(cli, instance_path(cli->arena, target.sandbox, path), &answer) < 0)
		return -1;
	if (cli->json) {
		print_json(answer);
		return 0;
	}
	items = answer_items(answer);
	table_init(&table, cli->arena,
	           (const char *const[]){"MODE", "UID", "SIZE", "MODIFIED", "NAME", NULL});
	for (size_t i = 0; i < json_count(items); i++)
		add_row(&table, json_item_at(items, i));
	table_print(&table, stdout, &cli->display);
	if (json_get_bool(answer, "truncated", false))
		(void)fprintf(stderr, "The list is incomplete: there are more entries.\n");
	return 0;
}

const struct cli_command command_ls = {
        .name = "ls",
        .usage = "SANDBOX[:PATH]",
        .about = "list files in a sandbox (sandboxes: 'atoll ps')",
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_SANDBOX,
        .run = run_ls,
};
