/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/check/check.h"
#include "cli/check/commands.h"
#include "cli/core/progress.h"
#include "cli/core/resources.h"
#include "cli/core/server.h"
#include "json/json.h"

/* Names that an option gives to a provider: "NAME" for all, "PROVIDER=NAME" for one. */
static const char *find_choice(struct cli *cli, const char *option, const char *provider)
{
	size_t size = strlen(provider);
	const char *fallback = NULL, *text;

	for (unsigned i = 0; (text = arguments_text_at(&cli->args, option, i)); i++) {
		if (strncmp(text, provider, size) == 0 && text[size] == '=')
			return text + size + 1;
		if (!strchr(text, '='))
			fallback = text;
	}
	return fallback;
}

static bool is_wanted(struct cli *cli, const char *provider, unsigned *found)
{
	const char *text;

	for (unsigned i = 0; (text = arguments_text_at(&cli->args, "provider", i)); i++) {
		if (strcmp(text, provider) == 0) {
			(*found)++;
			return true;
		}
	}
	return arguments_text_at(&cli->args, "provider", 0) == NULL;
}

static unsigned count_options(struct cli *cli, const char *name)
{
	unsigned count = 0;

	while (arguments_text_at(&cli->args, name, count))
		count++;
	return count;
}

static int list_providers(struct cli *cli, struct isolation_report *report)
{
	const struct json_value *answer = NULL, *items;
	unsigned found = 0;

	if (server_get(cli, "/v1/providers", &answer) < 0)
		return -1;
	items = answer_items(answer);
	report->providers = ARENA_ARRAY(cli->arena, struct checked_provider, json_count(items) + 1);
	for (size_t i = 0; i < json_count(items); i++) {
		const struct json_value *item = json_item_at(items, i);
		const char *name = json_get_text(item, "name", "");

		/* The sandboxes of the kind null run nothing. */
		if (!is_wanted(cli, name, &found) ||
		    strcmp(json_get_text(item, "kind", ""), "null") == 0)
			continue;
		report->providers[report->count++] = (struct checked_provider){
		        .name = name,
		        .kind = json_get_text(item, "kind", ""),
		        .isolation = json_get_text(item, "isolation", ""),
		        .template = find_choice(cli, "template", name),
		        .image = find_choice(cli, "image", name),
		};
	}
	if (found < count_options(cli, "provider") || report->count == 0) {
		(void)FAIL(cli->err, ERROR_NOT_FOUND, "the server lacks a provider that was named");
		return FAIL_HINT(cli->err, "list them: atoll provider ls");
	}
	return 0;
}

static void check_providers(struct isolation_report *report, const struct host_traps *traps)
{
	struct cli *cli = report->cli;
	struct progress_line progress = {0};

	for (unsigned i = 0; i < report->count; i++) {
		struct checked_provider *p = &report->providers[i];

		progress_show_passing(&progress, cli->arena,
		                      arena_format(cli->arena, "provider '%s'…", p->name));
		provider_check(cli, p, traps);
	}
	progress_end(&progress);
}

static int report_providers(const struct isolation_report *report)
{
	const char *path = arguments_text(&report->cli->args, "write", NULL);

	if (report->cli->json)
		report_print_json(report);
	else
		report_print(report);
	if (path && report_write_markdown(report, path) < 0)
		return FAIL_CONTEXT(report->cli->err, "write '%s'", path);
	return report_has_failed(report) ? 1 : 0;
}

static int run_isolation(struct cli *cli)
{
	struct isolation_report report = {.cli = cli};
	struct host_traps traps;
	int result;

	if (cli_connect(cli) < 0 || list_providers(cli, &report) < 0 ||
	    host_traps_set(cli, &traps) < 0)
		return -1;
	report.traps = &traps;
	check_providers(&report, &traps);
	result = report_providers(&report);
	host_traps_remove(&traps);
	return result;
}

static const struct command_option options[] = {
        {"provider", "PROVIDER", "check this provider only", .repeats = true},
        {"template", "[PROVIDER=]TEMPLATE", "template of the sandboxes, for all or one provider",
         .letter = 't', .repeats = true},
        {"image", "[PROVIDER=]IMAGE", "image of the sandboxes, for all or one provider",
         .repeats = true},
        {"write", "FILE", "write the result as Markdown, too", .completion = COMPLETE_FILE},
        {0},
};

static const struct cli_command children[] = {
        {"isolation", "[OPTION...]", "try to get out of sandboxes of each provider",
         .more = "Makes sandboxes with each provider of the server, runs attempts to get out of\n"
                 "them, and says which held. The attempts do no harm if they get through.\n"
                 "Files, sockets and a process on this machine show an escape; for that the\n"
                 "server must run on this machine. The exit status is 1 if something got out.",
         .options = options, .run = run_isolation},
        {0},
};

const struct cli_command command_check = {
        .name = "check",
        .usage = "COMMAND",
        .about = "test what the server promises",
        .children = children,
};
