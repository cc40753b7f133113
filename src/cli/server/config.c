/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"
#include "config/option.h"

#include <stdio.h>
#include <string.h>

#include "cli/server/commands.h"
#include "cli/core/local.h"
#include "cli/server/server_options.h"
#include "json/write.h"

extern char **environ;

#define TEXT_SIZE_MAX (256u * 1024)

/* The local server's folder, unless the flags name one. */
static const char *data_flag(struct cli *cli)
{
	const char *folder;

	if (arguments_has(&cli->args, "data"))
		return arena_format(cli->arena, "data=%s",
		                    arguments_text(&cli->args, "data", NULL));
	if (local_data_dir(cli->arena, &folder, cli->err) < 0)
		return NULL;
	return arena_format(cli->arena, "data=%s", folder);
}

static const char *const *flags_of(struct cli *cli)
{
	char **flags = server_options_flags(cli->arena, &cli->args, "");
	const char **kept = ARENA_ARRAY(cli->arena, const char *, cli->args.value_count + 2);
	unsigned count = 0;

	kept[count] = data_flag(cli);
	if (!kept[count++])
		return NULL;
	for (char **at = flags + 1; *at; at++) {
		if (strncmp(*at, "data=", 5) != 0 && strncmp(*at, "config=", 7) != 0)
			kept[count++] = *at;
	}
	return kept;
}

static void print_text(struct buf *out, const struct config_option *option,
                       const struct config *config)
{
	AUTO(buf_done) struct buf text = BUF(TEXT_SIZE_MAX);

	config_print_text(&text, option, config);
	json_add_span(out, option->name, buf_span(&text));
}

static void print_as_json(struct buf *out, const struct config *config)
{
	json_begin_object(out, NULL);
	for (const struct config_option *at = config_options; at->name; at++) {
		const char *member = (const char *)config + at->offset;

		if (at->kind == CONFIG_TEXT)
			print_text(out, at, config);
		else if (at->kind == CONFIG_NUMBER)
			json_add_number(out, at->name, *(const double *)(const void *)member);
		else if (at->kind == CONFIG_BOOL)
			json_add_bool(out, at->name, *(const bool *)(const void *)member);
		else
			json_add_whole(out, at->name, *(const int64_t *)(const void *)member);
	}
	json_end_object(out);
	buf_add_byte(out, '\n');
}

static int run_config(struct cli *cli)
{
	AUTO(buf_done) struct buf text = BUF(TEXT_SIZE_MAX);
	struct config_source source = {
	        .flags = flags_of(cli),
	        .file = arguments_text(&cli->args, "config", NULL),
	        .environment = environ,
	};
	struct config loaded;

	if (!source.flags || config_load(cli->arena, &source, &loaded, cli->err) < 0)
		return -1;
	if (arguments_has(&cli->args, "reference"))
		config_print_reference(&text);
	else if (cli->json)
		print_as_json(&text, &loaded);
	else
		config_print(&text, &loaded);
	(void)fputs(buf_text(&text), stdout);
	return 0;
}

static const struct command_option *config_command_options(void)
{
	static const struct command_option own[] = {
	        {"reference", NULL, "print the reference of all options as Markdown"},
	        {.name = NULL},
	};
	static const struct command_option *options;

	if (!options)
		options = server_options_with(own);
	return options;
}

const struct cli_command command_config = {
        .name = "config",
        .usage = "[--reference] [OPTION...]",
        .about = "print the server's options, their values and where to set them",
        .more = "The first of these that sets an option applies: a flag, the environment,\n"
                "DATA/atoll.yaml, the default; the comments say which source applied. The\n"
                "output can be saved as atoll.yaml, but **** stands for a password. Of a\n"
                "server that runs: atoll server.",
        .make_options = config_command_options,
        .run = run_config,
};
