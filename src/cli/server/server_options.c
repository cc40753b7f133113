/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/server/server_options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/core/local.h"
#include "config/option.h"

#define OPTIONS_MAX 192
#define OWN_MAX 8
#define NAME_MAX_SIZE 48

static const char *value_name(enum config_kind kind)
{
	switch (kind) {
	case CONFIG_TEXT:
		return "TEXT";
	case CONFIG_WHOLE:
	case CONFIG_NUMBER:
		return "NUMBER";
	case CONFIG_BOOL:
		return "true|false";
	case CONFIG_DURATION:
		return "DURATION";
	case CONFIG_SIZE:
		return "SIZE";
	}
	return "VALUE";
}

static void dashed_name(char out[NAME_MAX_SIZE], const char *name)
{
	(void)snprintf(out, NAME_MAX_SIZE, "%s", name);
	for (char *at = out; *at; at++)
		*at = *at == '_' ? '-' : *at;
}

const struct command_option *server_options(void)
{
	static struct command_option options[OPTIONS_MAX];
	static char names[OPTIONS_MAX][NAME_MAX_SIZE];
	unsigned count = 0;

	if (options[0].name)
		return options;
	for (const struct config_option *at = config_options; at->name; at++, count++) {
		assert(count + 2 < OPTIONS_MAX);
		dashed_name(names[count], at->name);
		options[count] = (struct command_option){
		        .name = names[count],
		        .value = value_name(at->kind),
		        .about = at->about,
		        .completion =
		                strcmp(at->name, "data") == 0 ? COMPLETE_FOLDER : COMPLETE_NOTHING,
		};
	}
	options[count] = (struct command_option){"config", "FILE",
	                                         "read this file instead of DATA/atoll.yaml",
	                                         .completion = COMPLETE_FILE};
	return options;
}

const struct command_option *server_options_with(const struct command_option *own)
{
	struct command_option *options = memory_array(OPTIONS_MAX + OWN_MAX, sizeof(*options));
	unsigned count = 0;

	for (const struct command_option *at = server_options(); at->name; at++)
		options[count++] = *at;
	for (unsigned i = 0; own[i].name && i + 1 < OWN_MAX; i++)
		options[count++] = own[i];
	return options;
}

static bool is_server_option(const struct command_option *option)
{
	for (const struct command_option *at = server_options(); at->name; at++) {
		if (strcmp(at->name, option->name) == 0)
			return true;
	}
	return false;
}

char **server_options_flags(struct arena *a, const struct cli_arguments *args, const char *prefix)
{
	char **flags = ARENA_ARRAY(a, char *, args->value_count + 3);
	unsigned count = 1;

	for (unsigned i = 0; i < args->value_count; i++) {
		const struct option_value *value = &args->values[i];

		if (is_server_option(value->option))
			flags[count++] = arena_format(a, "%s%s=%s", prefix, value->option->name,
			                              value->text);
	}
	return flags;
}

int server_exec(struct cli *cli, const char *flag)
{
	char **argv = server_options_flags(cli->arena, &cli->args, "--");
	const char *program;
	unsigned count = 1;

	if (server_program_find(cli->arena, &program, cli->err) < 0)
		return -1;
	argv[0] = arena_text(cli->arena, "atolld");
	while (argv[count])
		count++;
	if (flag)
		argv[count] = arena_text(cli->arena, flag);
	(void)execv(program, argv);
	return FAIL_ERRNO(cli->err, "run '%s'", program);
}
