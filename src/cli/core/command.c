/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/command.h"

#include <string.h>

const struct command_option common_options[] = {
        {"json", NULL, "answer as JSON"},
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
