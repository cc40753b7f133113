/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/core/listing.h"
#include "cli/core/plain.h"
#include "cli/server/commands.h"
#include "json/json.h"
#include "json/write.h"

#define RULES_MAX 65536

static const struct {
	const char *member, *words;
} conditions[] = {
        {"project", "project"},          {"label", "label"},
        {"template", "template"},        {"isolation", "isolation"},
        {"memory_mb_min", "MiB >="},     {"memory_mb_max", "MiB <="},
        {"cpu_min", "vCPUs >="},         {"cpu_max", "vCPUs <="},
        {"price_min", "USD an hour >="}, {"price_max", "USD an hour <="},
};

static const char *conditions_cell(struct arena *a, const struct json_value *rule)
{
	const char *cell = NULL;

	for (size_t i = 0; i < COUNT_OF(conditions); i++) {
		const struct json_value *value = json_get(rule, conditions[i].member);
		const char *text = json_text(value, NULL);

		if (!value)
			continue;
		cell = text ? arena_format(a, "%s%s%s %s", cell ? cell : "", cell ? ", " : "",
		                           conditions[i].words, text)
		            : arena_format(a, "%s%s%s %g", cell ? cell : "", cell ? ", " : "",
		                           conditions[i].words, json_number(value, 0));
	}
	return cell ? cell : "every sandbox";
}

static const struct listing_column columns[] = {
        {"RULE", "name", NULL},
        {"IF", NULL, conditions_cell},
        {"PROVIDERS", "providers", listing_texts},
        {0},
};

static void print_rules(struct cli *cli, const struct json_value *answer)
{
	listing_print(cli, json_get(answer, "rules"), columns);
}

/* The file has a list of rules, or the object that 'atoll routing ls --json' prints. */
static int add_rules(struct cli *cli, struct buf *body)
{
	AUTO(buf_done) struct buf text = BUF(RULES_MAX);
	const char *path = cli->args.words[0];
	const struct json_value *given, *rules;
	bool is_stdin = strcmp(path, "-") == 0;
	int result = is_stdin ? fd_read_to_end(STDIN_FILENO, &text, cli->err)
	                      : file_read(AT_FDCWD, path, &text, cli->err);

	if (result < 0 || json_load(cli->arena, buf_span(&text), &given, cli->err) < 0)
		return FAIL_CONTEXT(cli->err, "%s", path);
	rules = json_get(given, "rules");
	json_add_value(body, "rules", rules ? rules : given);
	return 0;
}

static const struct cli_command children[] = {
        {"ls", "", "show the rules that choose providers", .operation = "GET /v1/routing",
         .print = print_rules},
        {"set", "FILE",
         "set the rules from a file in JSON (- = standard input), for every server on "
         "this store",
         .arguments_min = 1, .arguments_max = 1, .operation = "PUT /v1/routing", .fill = add_rules,
         .print = print_rules, .completion = COMPLETE_FILE},
        {"reset", "", "return to the rules of the configuration", .operation = "DELETE /v1/routing",
         .print = print_rules},
        {0},
};

const struct cli_command command_routing = {
        .name = "routing",
        .usage = "COMMAND",
        .about = "show and set the rules that choose the provider of a sandbox",
        .children = children,
};
