/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/core/ask.h"
#include "cli/sandbox/commands.h"
#include "cli/sandbox/sandboxes.h"

static int remove_sandbox(struct cli *cli, const char *sandbox)
{
	bool keeps = arguments_has(&cli->args, "all") || arguments_has(&cli->args, "keep");
	const struct server_call call = {
	        .method = "DELETE",
	        .path = instance_path(cli->arena, sandbox, keeps ? "?keep=true" : ""),
	};

	if (server_call(cli, &call, NULL) == 0)
		return 0;
	if (arguments_has(&cli->args, "force") && cli->err->code == ERROR_NOT_FOUND)
		return 0;
	return -1;
}

/* Sandboxes of running builds belong to the builds, which remove them. */
static const char **list_removable(struct cli *cli, size_t *ret_count, size_t *ret_spared)
{
	struct sandbox_names found;
	const char **ids;
	size_t count = 0;

	if (sandboxes_list(cli, true, &found) < 0)
		return NULL;
	ids = ARENA_ARRAY(cli->arena, const char *, found.count + 1);
	for (size_t i = 0; i < found.count; i++)
		if (!sandbox_is_of_build(found.items[i]))
			ids[count++] = json_get_text(found.items[i], "id", "");
	*ret_count = count;
	*ret_spared = found.count - count;
	return ids;
}

static int remove_all_sandboxes(struct cli *cli)
{
	const struct sandboxes_verb verb = {remove_sandbox, "removed"};
	size_t count, spared;
	const char **ids;
	int status;

	if (cli_connect(cli) < 0 || !(ids = list_removable(cli, &count, &spared)))
		return -1;
	if (spared > 0)
		(void)fprintf(stderr, "%zu sandboxes of running builds are not removed\n", spared);
	if (count > 0 && !arguments_has(&cli->args, "force") &&
	    ask_first(cli, arena_format(cli->arena, "Remove %zu sandboxes?", count)) < 0)
		return -1;
	status = sandboxes_each_of(cli, &verb, ids);
	if (count > 0)
		(void)fprintf(stderr, "'atoll undelete --all' restores sandboxes with files for a "
		                      "while (the server's option deleted_keep)\n");
	return status;
}

static int run_rm(struct cli *cli)
{
	if (arguments_has(&cli->args, "all") && cli->args.count == 0)
		return remove_all_sandboxes(cli);
	return sandboxes_each(cli, &(struct sandboxes_verb){remove_sandbox, "removed"});
}

static const struct command_option options[] = {
        {"all", NULL, "every sandbox but those of running builds; they can be restored for a while",
         .letter = 'a'},
        {"yes", NULL, "with --all: do not ask", .letter = 'y'},
        {"force", NULL, "do not ask; ignore missing sandboxes", .letter = 'f'},
        {"keep", NULL, "keep the removed sandboxes in the trash for a while"},
        {0},
};

const struct cli_command command_rm = {
        .name = "rm",
        .usage = "[--force] [--keep] SANDBOX... | --all [--yes]",
        .about = "end sandboxes and remove their files",
        .more = "Files are deleted at once, unless --all or --keep is given: 'atoll undelete' can\n"
                "restore those sandboxes for the time of the server's option deleted_keep.",
        .options = options,
        .arguments_max = ANY_NUMBER,
        .completion = COMPLETE_SANDBOX,
        .run = run_rm,
};
