/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/commands.h"
#include "cli/help.h"

/* The scripts ask these commands for names. They ask only a running server: TAB must not start
 * one. */
#define NAMES_OF_SANDBOXES "atoll ps --names"
#define NAMES_OF_TEMPLATES "atoll template ls --names"

static const char *names_command(enum completion completion)
{
	switch (completion) {
	case COMPLETE_SANDBOX:
	case COMPLETE_SANDBOX_OR_FILE:
		return NAMES_OF_SANDBOXES;
	case COMPLETE_TEMPLATE:
		return NAMES_OF_TEMPLATES;
	case COMPLETE_NOTHING:
	case COMPLETE_FILE:
	case COMPLETE_FOLDER:
	case COMPLETE_SHELL:
		break;
	}
	return NULL;
}

/* Called for every command and subcommand. */
typedef void on_command(struct buf *out, const struct cli_command *parent,
                        const struct cli_command *command);

static void each_command(struct buf *out, on_command *visit)
{
	for (const struct cli_command *const *at = commands; *at; at++) {
		visit(out, NULL, *at);
		for (const struct cli_command *child = (*at)->children; child && child->name;
		     child++)
			visit(out, *at, child);
	}
}

typedef void on_option(struct buf *out, const struct command_option *option);

static void each_option(struct buf *out, const struct cli_command *command, on_option *visit)
{
	const struct command_option *option = command_options(command);

	for (; option && option->name; option++)
		visit(out, option);
	for (option = common_options; option->name; option++)
		visit(out, option);
}

static void add_command_names(struct buf *out, const struct cli_command *table)
{
	for (; table->name; table++)
		buf_addf(out, "%s%s", table->name, table[1].name ? " " : "");
}

static void bash_option(struct buf *out, const struct command_option *option)
{
	buf_addf(out, " --%s", option->name);
}

static void bash_arguments(struct buf *out, const struct cli_command *command)
{
	const char *names = names_command(command->completion);

	if (command->children) {
		buf_add_text(out, "words=\"$words ");
		add_command_names(out, command->children);
		buf_add_text(out, "\" ");
	}
	if (names)
		buf_addf(out, "words=\"$words $(%s 2>/dev/null)\" ", names);
	if (command->completion == COMPLETE_FILE || command->completion == COMPLETE_SANDBOX_OR_FILE)
		buf_add_text(out, "files=-f ");
	if (command->completion == COMPLETE_FOLDER)
		buf_add_text(out, "files=-d ");
	if (command->completion == COMPLETE_SHELL)
		buf_add_text(out, "words=\"$words bash zsh fish\" ");
}

static void bash_command(struct buf *out, const struct cli_command *parent,
                         const struct cli_command *command)
{
	buf_addf(out, "\t%s%s%s) words=\"", parent ? parent->name : "", parent ? "\\ " : "",
	         command->name);
	each_option(out, command, bash_option);
	buf_add_text(out, "\" ");
	bash_arguments(out, command);
	buf_add_text(out, ";;\n");
}

static void bash_parents(struct buf *out, const struct cli_command *parent,
                         const struct cli_command *command)
{
	if (!parent && command->children)
		buf_addf(out, "|%s", command->name);
}

static void print_bash(struct buf *out)
{
	buf_add_text(out, "_atoll() {\n"
	                  "\tlocal word=${COMP_WORDS[COMP_CWORD]} words='' files=''\n"
	                  "\tlocal command=${COMP_WORDS[1]}\n"
	                  "\tif ((COMP_CWORD == 1)); then\n"
	                  "\t\tCOMPREPLY=($(compgen -W '");
	for (const struct cli_command *const *at = commands; *at; at++)
		buf_addf(out, "%s%s", (*at)->name, at[1] ? " " : "");
	buf_add_text(out, "' -- \"$word\"))\n\t\treturn\n\tfi\n\tcase $command in\n\t-");
	each_command(out, bash_parents);
	buf_add_text(out, ") ((COMP_CWORD > 2)) && command=\"$command ${COMP_WORDS[2]}\" ;;\n"
	                  "\tesac\n\tcase $command in\n");
	each_command(out, bash_command);
	buf_add_text(out, "\tesac\n"
	                  "\tCOMPREPLY=($(compgen $files -W \"$words\" -- \"$word\"))\n"
	                  "}\n"
	                  "complete -o filenames -F _atoll atoll\n");
}

/* Escapes a text for '…' and for the [brackets] and :colons: of _arguments. */
static void zsh_add_quoted(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_add_text(out, "'\\''");
		else if (strchr("[]:\\", *text))
			buf_addf(out, "\\%c", *text);
		else
			buf_add_byte(out, *text);
	}
}

static const char *zsh_action(enum completion completion)
{
	switch (completion) {
	case COMPLETE_FILE:
		return "_files";
	case COMPLETE_FOLDER:
		return "_files -/";
	case COMPLETE_SANDBOX:
		return "_atoll_sandboxes";
	case COMPLETE_TEMPLATE:
		return "_atoll_templates";
	case COMPLETE_SANDBOX_OR_FILE:
		return "_atoll_sandboxes_or_files";
	case COMPLETE_SHELL:
		return "(bash zsh fish)";
	case COMPLETE_NOTHING:
		break;
	}
	return " ";
}

static void zsh_option(struct buf *out, const struct command_option *option)
{
	buf_addf(out, " \\\n\t\t'%s--%s%s[", option->repeats ? "*" : "", option->name,
	         option->value ? "=" : "");
	zsh_add_quoted(out, option->about);
	buf_add_byte(out, ']');
	if (option->value) {
		buf_add_byte(out, ':');
		zsh_add_quoted(out, option->value);
		buf_addf(out, ":%s", zsh_action(option->completion));
	}
	buf_add_byte(out, '\'');
}

static void zsh_command(struct buf *out, const struct cli_command *parent,
                        const struct cli_command *command)
{
	buf_addf(out, "\t'%s%s%s') _arguments", parent ? parent->name : "", parent ? " " : "",
	         command->name);
	each_option(out, command, zsh_option);
	if (command->children) {
		buf_add_text(out, " \\\n\t\t'1:command:(");
		add_command_names(out, command->children);
		buf_add_text(out, ")'");
	} else {
		buf_addf(out, " \\\n\t\t'*:argument:%s'", zsh_action(command->completion));
	}
	buf_add_text(out, " ;;\n");
}

static void zsh_name(struct buf *out, const struct cli_command *parent,
                     const struct cli_command *command)
{
	if (parent)
		return;
	buf_addf(out, "\t\t'%s:", command->name);
	zsh_add_quoted(out, command->about);
	buf_add_text(out, "'\n");
}

static void print_zsh(struct buf *out)
{
	buf_add_text(out, "#compdef atoll\n"
	                  "_atoll_sandboxes() { compadd -- ${(f)\"$(" NAMES_OF_SANDBOXES
	                  " 2>/dev/null)\"} }\n"
	                  "_atoll_templates() { compadd -- ${(f)\"$(" NAMES_OF_TEMPLATES
	                  " 2>/dev/null)\"} }\n"
	                  "_atoll_sandboxes_or_files() { _atoll_sandboxes; _files }\n"
	                  "_atoll() {\n"
	                  "\tlocal command=$words[2]\n"
	                  "\tlocal -a names=(\n");
	each_command(out, zsh_name);
	buf_add_text(out,
	             "\t)\n"
	             "\tif ((CURRENT == 2)); then\n\t\t_describe command names\n\t\treturn\n\tfi\n"
	             "\tcase $command in\n\t-");
	each_command(out, bash_parents);
	buf_add_text(out, ") ((CURRENT > 3)) && { command=\"$command $words[3]\"; shift words; "
	                  "((CURRENT--)) } ;;\n\tesac\n"
	                  "\tshift words\n\t((CURRENT--))\n\tcase $command in\n");
	each_command(out, zsh_command);
	buf_add_text(out, "\tesac\n}\ncompdef _atoll atoll\n");
}

static void fish_add_quoted(struct buf *out, const char *text)
{
	buf_add_byte(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buf_add_byte(out, '\\');
		buf_add_byte(out, *text);
	}
	buf_add_byte(out, '\'');
}

static void fish_condition(struct buf *out, const struct cli_command *parent,
                           const struct cli_command *command)
{
	if (parent)
		buf_addf(out,
		         "complete -c atoll -n '__fish_seen_subcommand_from %s; and "
		         "__fish_seen_subcommand_from %s'",
		         parent->name, command->name);
	else
		buf_addf(out, "complete -c atoll -n '__fish_seen_subcommand_from %s'",
		         command->name);
}

static void fish_value(struct buf *out, enum completion completion)
{
	const char *names = names_command(completion);

	if (names)
		buf_addf(out, " -a '(%s 2>/dev/null)'", names);
	if (completion == COMPLETE_SHELL)
		buf_add_text(out, " -a 'bash zsh fish'");
	if (completion == COMPLETE_FILE || completion == COMPLETE_FOLDER ||
	    completion == COMPLETE_SANDBOX_OR_FILE)
		buf_add_text(out, " -F");
	else
		buf_add_text(out, " -f");
}

static void fish_option(struct buf *out, const struct cli_command *parent,
                        const struct cli_command *command, const struct command_option *option)
{
	fish_condition(out, parent, command);
	buf_addf(out, " -l %s", option->name);
	if (option->letter)
		buf_addf(out, " -s %c", option->letter);
	if (option->value) {
		buf_add_text(out, " -r");
		fish_value(out, option->completion);
	}
	buf_add_text(out, " -d ");
	fish_add_quoted(out, option->about);
	buf_add_byte(out, '\n');
}

static void fish_command(struct buf *out, const struct cli_command *parent,
                         const struct cli_command *command)
{
	const struct command_option *option = command_options(command);

	if (parent)
		buf_addf(out, "complete -c atoll -n '__fish_seen_subcommand_from %s' -f -a %s -d ",
		         parent->name, command->name);
	else
		buf_addf(out, "complete -c atoll -n __fish_use_subcommand -f -a %s -d ",
		         command->name);
	fish_add_quoted(out, command->about);
	buf_add_byte(out, '\n');
	if (!command->children) {
		fish_condition(out, parent, command);
		fish_value(out, command->completion);
		buf_add_byte(out, '\n');
	}
	for (; option && option->name; option++)
		fish_option(out, parent, command, option);
	for (option = common_options; option->name; option++)
		fish_option(out, parent, command, option);
}

static void print_fish(struct buf *out)
{
	each_command(out, fish_command);
}

static const struct {
	const char *name;
	void (*print)(struct buf *out);
} shells[] = {
        {"bash", print_bash},
        {"zsh", print_zsh},
        {"fish", print_fish},
};

int completion_print(struct buf *out, const char *shell, struct error *err)
{
	for (unsigned i = 0; i < COUNT_OF(shells); i++) {
		if (strcmp(shells[i].name, shell) == 0) {
			shells[i].print(out);
			return 0;
		}
	}
	(void)FAIL(err, ERROR_UNSUPPORTED, "no completion for shell '%s'", shell);
	return FAIL_HINT(err, "bash, zsh or fish");
}
