/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox/sandboxes.h"

#include <stdio.h>
#include <string.h>

#include "cli/core/text_out.h"

#define BUILD_LABEL "atoll.build" /* see fleet/build/build_sandbox.c */

static bool is_living(const struct json_value *sandbox)
{
	static const char *const states[] = {"pending", "creating", "started", "paused",
	                                     "stopping"};
	const char *state = json_get_text(sandbox, "state", "");

	for (unsigned i = 0; i < COUNT_OF(states); i++) {
		if (strcmp(state, states[i]) == 0)
			return true;
	}
	return false;
}

static void add_items(struct cli *cli, struct sandbox_names *to, const struct json_value *items,
                      bool all)
{
	size_t count = json_count(items);
	const struct json_value **grown =
	        ARENA_ARRAY(cli->arena, const struct json_value *, to->count + count + 1);

	if (to->count > 0)
		memcpy(grown, to->items, to->count * sizeof(*grown));
	to->items = grown;
	for (size_t i = 0; i < count; i++) {
		if (all || is_living(json_item_at(items, i)))
			to->items[to->count++] = json_item_at(items, i);
	}
}

int sandboxes_list(struct cli *cli, bool all, struct sandbox_names *ret)
{
	return sandboxes_choose(cli, &(struct sandbox_choice){"", all, all}, ret);
}

int sandboxes_choose(struct cli *cli, const struct sandbox_choice *choice,
                     struct sandbox_names *ret)
{
	const char *query =
	        arena_format(cli->arena, INSTANCES "?limit=1000%s%s",
	                     choice->is_of_builds ? "&builds=true" : "", choice->conditions);
	const char *path = query, *next;
	struct sandbox_names found = {0};
	const struct json_value *page;

	do {
		if (server_get(cli, path, &page) < 0)
			return -1;
		add_items(cli, &found, answer_items(page), choice->has_ended);
		next = json_get_text(page, "next_page", NULL);
		if (next && next[0])
			path = escaped_path(cli->arena, arena_format(cli->arena, "%s&page=", query),
			                    next, "");
	} while (next && next[0]);
	*ret = found;
	return 0;
}

static int apply_verb(struct cli *cli, const struct sandboxes_verb *verb, const char *sandbox)
{
	if (verb->each(cli, sandbox) < 0) {
		text_out_error(cli->arena, arena_format(cli->arena, "%s: ", sandbox), cli->err);
		return -1;
	}
	if (!cli->json)
		(void)printf("%s\n", text_out_safe(cli->arena, sandbox));
	return 0;
}

static const char **names_of(struct cli *cli)
{
	struct sandbox_names found;
	const char **names;
	size_t count = 0;

	if (!arguments_has(&cli->args, "all"))
		return cli->args.words;
	if (sandboxes_list(cli, true, &found) < 0)
		return NULL;
	names = ARENA_ARRAY(cli->arena, const char *, found.count + 1);
	for (size_t i = 0; i < found.count; i++)
		if (!sandbox_is_of_build(found.items[i]))
			names[count++] = json_get_text(found.items[i], "id", "");
	return names;
}

static int check_arguments(struct cli *cli, bool all)
{
	if (all == (cli->args.count == 0))
		return 0;
	(void)FAIL(cli->err, ERROR_INVALID, "%s",
	           all ? "--all and names exclude each other" : "no sandbox is given");
	return FAIL_HINT(cli->err, "usage: atoll %s %s", cli->command->name, cli->command->usage);
}

int sandboxes_each(struct cli *cli, const struct sandboxes_verb *verb)
{
	const char **names;

	if (check_arguments(cli, arguments_has(&cli->args, "all")) < 0 || cli_connect(cli) < 0)
		return -1;
	names = names_of(cli);
	return names ? sandboxes_each_of(cli, verb, names) : -1;
}

bool sandbox_is_of_build(const struct json_value *sandbox)
{
	return json_get_text(json_get(sandbox, "labels"), BUILD_LABEL, NULL) != NULL;
}

int sandboxes_each_of(struct cli *cli, const struct sandboxes_verb *verb, const char *const *names)
{
	unsigned done = 0, failed = 0;

	for (; *names; names++) {
		if (apply_verb(cli, verb, *names) < 0)
			failed++;
		else
			done++;
	}
	if (cli->json)
		(void)printf("{\"%s\":%u,\"failed\":%u}\n", verb->done, done, failed);
	if (failed > 0 && done + failed > 1)
		return FAIL(cli->err, cli->err->code, "%u of %u were not %s", failed, done + failed,
		            verb->done);
	return failed > 0 ? error_kind_get(cli->err->code)->exit_status : 0;
}
