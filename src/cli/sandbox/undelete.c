/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/sandbox/commands.h"
#include "cli/core/listing.h"
#include "cli/sandbox/sandboxes.h"

static const struct listing_column columns[] = {
        {"ID", "id", NULL},
        {"NAME", "name", NULL},
        {"UNTIL", "until", NULL},
        {"SIZE", "size_bytes", listing_bytes},
        {0},
};

static int undelete_sandbox(struct cli *cli, const char *id)
{
	const struct server_call call = {.method = "POST",
	                                 .path = instance_path(cli->arena, id, "/undelete")};
	const struct json_value *answer;
	const char *event;

	if (server_call(cli, &call, &answer) < 0)
		return -1;
	event = strstr(json_get_text(json_get(answer, "last_event"), "text", ""), ", without ");
	if (event)
		(void)fprintf(stderr, "%s: %s\n", json_get_text(answer, "name", id),
		              event + strlen(", "));
	return 0;
}

static bool is_wanted(const struct cli *cli, const struct json_value *item)
{
	const char *id = json_get_text(item, "id", "");
	const char *name = json_get_text(item, "name", "");

	if (strcmp(json_get_text(item, "kind", ""), "sandbox") != 0)
		return false;
	for (const char *const *word = cli->args.words; *word; word++)
		if (strcmp(*word, id) == 0 || strcmp(*word, name) == 0)
			return true;
	return arguments_has(&cli->args, "all");
}

static int run_undelete(struct cli *cli)
{
	const struct sandboxes_verb verb = {undelete_sandbox, "undeleted"};
	const struct json_value *answer, *items;
	const char **ids;
	size_t count = 0;

	if (cli_connect(cli) < 0 || server_get(cli, "/api/sandbox/trash", &answer) < 0)
		return -1;
	items = answer_items(answer);
	if (cli->args.count == 0 && !arguments_has(&cli->args, "all")) {
		listing_print(cli, items, columns);
		return 0;
	}
	ids = ARENA_ARRAY(cli->arena, const char *, json_count(items) + 1);
	for (size_t i = 0; i < json_count(items); i++)
		if (is_wanted(cli, json_item_at(items, i)))
			ids[count++] = json_get_text(json_item_at(items, i), "id", "");
	if (count < cli->args.count) {
		(void)FAIL(cli->err, ERROR_NOT_FOUND,
		           "not all of these are in the trash: they have expired or were deleted "
		           "for good");
		return FAIL_HINT(cli->err, "'atoll undelete' lists the trash");
	}
	return sandboxes_each_of(cli, &verb, ids);
}

static const struct command_option options[] = {
        {"all", NULL, "restore everything in the trash", .letter = 'a'},
        {0},
};

const struct cli_command command_undelete = {
        .name = "undelete",
        .usage = "[SANDBOX... | --all]",
        .about = "restore sandboxes that 'rm --all' or 'rm --keep' removed, or list them",
        .more = "Restored sandboxes are stopped; 'atoll start' starts them. Their volumes are\n"
                "attached again, but for deleted and reused volumes, which are named.",
        .options = options,
        .arguments_max = ANY_NUMBER,
        .run = run_undelete,
};
