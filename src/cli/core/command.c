/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/command.h"

#include <string.h>

#include "base/nearest.h"

const struct command_option common_options[] = {
        {"json", NULL, "answer as JSON"},
        {"color", "WHEN", "colour the output: auto, always or never"},
        {"help", NULL, "show this help", .letter = 'h'},
        {0},
};

const struct command_option *command_options(const struct cli_command *command)
{
	return command->make_options ? command->make_options() : command->options;
}

const struct cli_command *command_find(const struct cli_command *const *table, const char *name)
{
	for (; *table; table++) {
		if (strcmp((*table)->name, name) == 0)
			return *table;
	}
	return NULL;
}

const struct cli_command *command_find_child(const struct cli_command *parent, const char *name)
{
	for (const struct cli_command *at = parent->children; at && at->name; at++) {
		if (strcmp(at->name, name) == 0)
			return at;
	}
	return NULL;
}

/* The words of other programs. */
static const struct {
	const char *word;
	const char *command, *subcommand; /* what it means as the one and as the other */
} foreign_words[] = {
        {"list", "ps", "ls"},       {"delete", "rm", "rm"},    {"remove", "rm", "rm"},
        {"kill", "rm", "stop"},     {"sandbox", "ps", ""},     {"attach", "shell", ""},
        {"connect", "shell", ""},   {"ssh", "shell", ""},      {"image", "template", ""},
        {"images", "template", ""}, {"build", "template", ""}, {"pull", "template", ""},
};

static const char *translate_word(const char *name, bool is_subcommand)
{
	for (size_t i = 0; i < COUNT_OF(foreign_words); i++) {
		if (strcmp(foreign_words[i].word, name) == 0)
			return is_subcommand ? foreign_words[i].subcommand
			                     : foreign_words[i].command;
	}
	return name;
}

int command_refuse(const struct cli_command *const *table, const struct cli_command *parent,
                   const char *name, struct error *err)
{
	const char *first = parent ? parent->name : "", *space = parent ? " " : "";
	struct nearest nearest = {.name = span_of(translate_word(name, parent != NULL))};

	for (const struct cli_command *at = parent ? parent->children : NULL; at && at->name; at++)
		nearest_offer(&nearest, at->name);
	for (; !parent && *table; table++)
		nearest_offer(&nearest, (*table)->name);
	(void)FAIL(err, ERROR_INVALID, "there is no command '%s%s%s'", first, space, name);
	if (nearest.found)
		return FAIL_HINT(err, "did you mean '%s%s%s'?", first, space, nearest.found);
	return FAIL_HINT(err, "see 'atoll help%s%s'", space, first);
}
