/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <stdio.h>

#include "cli/commands.h"
#include "cli/core/display.h"

#define NAME_WIDTH 12
#define OPTION_WIDTH 26

void help_print_all(struct buf *out)
{
	buf_add_text(out,
	             "Atoll: isolated computers for AI agents.\n\n"
	             "usage: atoll COMMAND [OPTION...] [ARGUMENT...]\n\n"
	             "  atoll run -- python3 -c 'print(6 * 7)'   run a command in a new sandbox\n"
	             "  atoll help COMMAND                       show help of a command\n\n"
	             "Commands:\n");
	for (const struct cli_command *const *at = commands; *at; at++)
		buf_addf(out, "  %-*s %s\n", NAME_WIDTH, (*at)->name, (*at)->about);
	buf_add_text(out, "\nOptions:\n"
	                  "      --json        answer as JSON\n"
	                  "      --color WHEN  auto, always or never\n"
	                  "  -h, --help        show this help; after a command, that command's\n"
	                  "  -V, --version     print the version\n");
	buf_add_text(out, "\nEnvironment:\n"
	                  "  ATOLL_API_URL   the server: http://HOST:PORT or unix:/SOCKET;\n"
	                  "                  default: a local server that starts by itself\n"
	                  "  ATOLL_API_KEY   the key for that server\n"
	                  "  ATOLL_DATA      data folder of the local server\n"
	                  "  NO_COLOR        no colours; CLICOLOR_FORCE=1: colours always\n");
}

static void print_option(struct buf *out, const struct command_option *option)
{
	AUTO(buf_done) struct buf left = BUF(256);

	if (option->letter)
		buf_addf(&left, "-%c, --%s", option->letter, option->name);
	else
		buf_addf(&left, "    --%s", option->name);
	if (option->value)
		buf_addf(&left, " %s", option->value);
	buf_addf(out, "  %-*s", OPTION_WIDTH, buf_text(&left));
	if (left.size > OPTION_WIDTH)
		buf_addf(out, "\n  %*s", OPTION_WIDTH, "");
	buf_addf(out, "  %s%s\n", option->about, option->repeats ? " (may be repeated)" : "");
}

static void print_children(struct buf *out, const struct cli_command *command)
{
	buf_add_text(out, "\nCommands:\n");
	for (const struct cli_command *at = command->children; at->name; at++)
		buf_addf(out, "  %-*s %s\n", NAME_WIDTH, at->name, at->about);
}

void help_print(struct buf *out, const struct cli_command *parent,
                const struct cli_command *command)
{
	const struct command_option *options = command_options(command);

	buf_addf(out, "usage: atoll %s%s%s%s%s\n\n%s\n", parent ? parent->name : "",
	         parent ? " " : "", command->name, command->usage[0] ? " " : "", command->usage,
	         command->about);
	if (command->more)
		buf_addf(out, "\n%s\n", command->more);
	if (command->children)
		print_children(out, command);
	buf_add_text(out, "\nOptions:\n");
	for (; options && options->name; options++)
		print_option(out, options);
	for (options = common_options; options->name; options++)
		print_option(out, options);
}

/* Headings end in a colon and are not indented. */
static void print_colored(struct span text)
{
	struct span line;

	while (text.size > 0) {
		bool is_heading;

		(void)span_split(&text, '\n', &line);
		is_heading =
		        line.size > 0 && line.data[0] != ' ' && line.data[line.size - 1] == ':';
		(void)printf(is_heading ? DISPLAY_BOLD "%.*s" DISPLAY_NORMAL "\n" : "%.*s\n",
		             (int)line.size, line.data);
	}
}

void help_show(const struct cli_command *parent, const struct cli_command *command,
               const struct display *display)
{
	AUTO(buf_done) struct buf text = BUF(HELP_SIZE_MAX);

	if (command)
		help_print(&text, parent, command);
	else
		help_print_all(&text);
	if (display->has_color)
		print_colored(buf_span(&text));
	else
		(void)fputs(buf_text(&text), stdout);
}
