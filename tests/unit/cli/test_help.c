/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <ctype.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/core/operations.h"
#include "cli/core/plain.h"

extern char **environ;

static void check_options(const struct cli_command *command)
{
	const struct command_option *options = command_options(command);

	for (const struct command_option *at = options; at && at->name; at++) {
		assert_true(at->about && at->about[0]);
		for (const struct command_option *other = at + 1; other->name; other++) {
			assert_string_not_equal(at->name, other->name);
			assert_true(!at->letter || at->letter != other->letter);
		}
		for (const struct command_option *other = common_options; other->name; other++) {
			assert_string_not_equal(at->name, other->name);
			assert_true(!at->letter || at->letter != other->letter);
		}
	}
}

/* Of every plain command: the API has the operation, and the operation the members. */
static void check_operation(const struct cli_command *command)
{
	const struct api_operation *operation = operation_find(command->operation);
	const struct command_option *options = command_options(command);

	assert_non_null(operation);
	if (command->word)
		assert_non_null(operation_member_find(operation, command->word));
	if (command->run || command->fill)
		return; /* they may read options themselves */
	for (const struct command_option *at = options; at && at->name; at++) {
		const char *value;
		bool has_none = at->member && !at->member[0];

		if (!has_none && !strchr(command->operation, '{'))
			assert_non_null(plain_member(command, at, &value));
	}
}

static void check_command(const struct cli_command *command)
{
	assert_true(command->name[0] && command->usage && command->about[0]);
	assert_true(islower((unsigned char)command->about[0]));
	assert_int_not_equal(command->about[strlen(command->about) - 1], '.');
	assert_int_equal(!command->run && !command->operation, command->children != NULL);
	if (command->operation)
		check_operation(command);
	assert_true(command->arguments_min <= command->arguments_max);
	check_options(command);
}

typedef void on_row(const struct cli_command *command);

static void each(on_row *visit)
{
	for (const struct cli_command *const *at = commands; *at; at++) {
		visit(*at);
		for (const struct cli_command *child = (*at)->children; child && child->name;
		     child++)
			visit(child);
	}
}

TEST(every_row_of_the_table_is_whole)
{
	each(check_command);
}

TEST(every_command_of_the_contract_is_there)
{
	static const char *const names[] = {
	        "serve",  "run",   "exec",    "shell", "cp",     "ls",       "ps",  "inspect",
	        "logs",   "stats", "start",   "stop",  "rm",     "template", "key", "config",
	        "doctor", "bench", "version", "plan",  "events", "webhook"};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		assert_non_null(command_find(commands, names[i]));
	assert_null(command_find(commands, "nosuch"));
	assert_null(command_find(commands, ""));
}

static struct buf everything;

static void add_help(const struct cli_command *command)
{
	help_print(&everything, NULL, command);
	assert_non_null(strstr(buf_text(&everything), command->about));
}

TEST(help_says_what_the_tables_say)
{
	everything = BUF(HELP_SIZE_MAX);
	help_print_all(&everything);
	for (const struct cli_command *const *at = commands; *at; at++)
		assert_non_null(strstr(buf_text(&everything), (*at)->name));
	each(add_help);
	assert_false(everything.overflowed);
	assert_non_null(strstr(buf_text(&everything), "usage: atoll run [OPTION...] -- COMMAND"));
	assert_non_null(strstr(buf_text(&everything), "-t, --template TEMPLATE"));
	assert_non_null(strstr(buf_text(&everything), "--listen TEXT"));
	buf_done(&everything);
}

TEST(help_of_a_subcommand_names_its_parent)
{
	AUTO(buf_done) struct buf text = BUF(HELP_SIZE_MAX);
	const struct cli_command *parent = command_find(commands, "key");

	help_print(&text, parent, command_find_child(parent, "create"));
	assert_true(
	        span_starts_with(buf_span(&text), "usage: atoll key create [OPTION...] NAME\n"));
}

TEST(each_shell_gets_a_script_with_every_name)
{
	static const char *const shells[] = {"bash", "zsh", "fish"};
	struct error err;

	for (size_t i = 0; i < COUNT_OF(shells); i++) {
		AUTO(buf_done) struct buf text = BUF(HELP_SIZE_MAX);

		assert_int_equal(completion_print(&text, shells[i], &err), 0);
		assert_false(text.overflowed);
		for (const struct cli_command *const *at = commands; *at; at++)
			assert_non_null(strstr(buf_text(&text), (*at)->name));
		assert_non_null(strstr(buf_text(&text), "no-internet"));
		assert_non_null(strstr(buf_text(&text), "atoll ps --names"));
	}
}

TEST(an_unknown_shell_is_refused)
{
	AUTO(buf_done) struct buf text = BUF(HELP_SIZE_MAX);
	struct error err;

	assert_int_equal(completion_print(&text, "csh", &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_int_equal(text.size, 0);
}

TEST(the_command_that_was_meant_is_named)
{
	struct error err;

	assert_int_equal(command_refuse(commands, NULL, "exce", &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_string_equal(err.text, "there is no command 'exce'");
	assert_string_equal(err.hint, "did you mean 'exec'?");
	assert_int_equal(command_refuse(commands, command_find(commands, "key"), "craete", &err),
	                 -1);
	assert_string_equal(err.text, "there is no command 'key craete'");
	assert_string_equal(err.hint, "did you mean 'key create'?");
	assert_int_equal(command_refuse(commands, NULL, "nonsense", &err), -1);
	assert_string_equal(err.hint, "see 'atoll help'");
	assert_int_equal(command_refuse(commands, command_find(commands, "key"), "nonsense", &err),
	                 -1);
	assert_string_equal(err.hint, "see 'atoll help key'");
}

TEST(the_words_of_other_programs_are_understood)
{
	static const char *const pairs[][2] = {
	        {"delete", "did you mean 'rm'?"},       {"kill", "did you mean 'rm'?"},
	        {"images", "did you mean 'template'?"}, {"attach", "did you mean 'shell'?"},
	        {"sandbox", "did you mean 'ps'?"},      {"list", "did you mean 'ps'?"},
	};
	struct error err;

	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		assert_int_equal(command_refuse(commands, NULL, pairs[i][0], &err), -1);
		assert_string_equal(err.hint, pairs[i][1]);
	}
	assert_int_equal(command_refuse(commands, command_find(commands, "template"), "list", &err),
	                 -1);
	assert_string_equal(err.hint, "did you mean 'template ls'?");
	assert_int_equal(command_refuse(commands, command_find(commands, "budget"), "delete", &err),
	                 -1);
	assert_string_equal(err.text, "there is no command 'budget delete'");
	assert_string_equal(err.hint, "did you mean 'budget rm'?");
}

/* Runs a script on its standard input and gives what it prints. */
static void run_bash(struct span script, struct buf *out)
{
	char *argv[] = {(char[]){"bash"}, (char[]){"--norc"}, NULL};
	int in[2], printed[2], status;
	posix_spawn_file_actions_t actions;
	struct error err;
	pid_t pid;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(printed, O_CLOEXEC), 0);
	/* Whole before anybody reads it. */
	assert_true(fcntl(in[1], F_SETPIPE_SZ, HELP_SIZE_MAX) >= (int)script.size);
	assert_int_equal(fd_write_all(in[1], script.data, script.size, &err), 0);
	assert_int_equal(close(in[1]), 0);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	(void)posix_spawn_file_actions_adddup2(&actions, printed[1], 1);
	assert_int_equal(posix_spawnp(&pid, "bash", &actions, NULL, argv, environ), 0);
	(void)posix_spawn_file_actions_destroy(&actions);
	assert_int_equal(close(in[0]), 0);
	assert_int_equal(close(printed[1]), 0);
	assert_int_equal(fd_read_to_end(printed[0], out, &err), 0);
	assert_int_equal(close(printed[0]), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The script is run by the shell it is for. */
static void complete_in_bash(const char *words, struct buf *out)
{
	AUTO(buf_done) struct buf script = BUF(HELP_SIZE_MAX);
	struct error err;

	assert_int_equal(completion_print(&script, "bash", &err), 0);
	buf_addf(&script, "COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _atoll\n",
	         words);
	buf_add_text(&script, "echo \" ${COMPREPLY[*]} \"\n");
	run_bash(buf_span(&script), out);
}

TEST(bash_completes_commands_subcommands_and_options)
{
	AUTO(buf_done) struct buf out = BUF(65536);

	complete_in_bash("atoll ex", &out);
	assert_string_equal(buf_text(&out), " exec \n");
	buf_reset(&out);
	complete_in_bash("atoll template i", &out);
	assert_non_null(strstr(buf_text(&out), " import "));
	buf_reset(&out);
	complete_in_bash("atoll key create --sc", &out);
	assert_string_equal(buf_text(&out), " --scope \n");
	buf_reset(&out);
	complete_in_bash("atoll run --no-", &out);
	assert_string_equal(buf_text(&out), " --no-internet \n");
}

static int run_main(const char *first, const char *second)
{
	char one[32], two[32];
	char *argv[] = {(char[]){"atoll"}, one, second ? two : NULL, NULL};

	(void)snprintf(one, sizeof(one), "%s", first);
	(void)snprintf(two, sizeof(two), "%s", second ? second : "");
	return cli_main(second ? 3 : 2, argv);
}

TEST(the_exit_status_tells_a_wrong_line_from_a_right_one)
{
	char *words[] = {(char[]){"atoll"}, NULL};

	assert_int_equal(cli_main(1, words), 0);
	assert_int_equal(run_main("version", NULL), 0);
	assert_int_equal(run_main("--version", NULL), 0);
	assert_int_equal(run_main("-V", NULL), 0);
	assert_int_equal(run_main("run", "--help"), 0);
	assert_int_equal(run_main("no-such-command", NULL), 122);
	assert_int_equal(run_main("inspect", NULL), 122);
	assert_int_equal(run_main("key", "no-such-command"), 122);
}

int main(void)
{
	return RUN(
	        CASE(every_row_of_the_table_is_whole), CASE(every_command_of_the_contract_is_there),
	        CASE(help_says_what_the_tables_say), CASE(help_of_a_subcommand_names_its_parent),
	        CASE(each_shell_gets_a_script_with_every_name), CASE(an_unknown_shell_is_refused),
	        CASE(bash_completes_commands_subcommands_and_options),
	        CASE(the_command_that_was_meant_is_named),
	        CASE(the_words_of_other_programs_are_understood),
	        CASE(the_exit_status_tells_a_wrong_line_from_a_right_one));
}
