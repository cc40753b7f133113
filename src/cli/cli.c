/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/core/plain.h"
#include "cli/core/display.h"
#include "cli/core/text_out.h"
#include "http/client/client.h"
#include "http/message/fault.h"

static void print_error(struct cli *cli)
{
	AUTO(buf_done) struct buf text = BUF(4096);
	struct error *err = cli->err;

	/* The server's hint suits all clients; this one suits the CLI. */
	if (err->code == ERROR_UNAUTHENTICATED)
		error_hint(err, "set ATOLL_API_KEY to a key of this server");
	if (cli->json) {
		http_write_error(&text, err, "");
		(void)fprintf(stderr, "%s\n", buf_text(&text));
		return;
	}
	text_out_error(cli->arena, "", err);
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool is_version(const char *word)
{
	return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0;
}

/* Finds the command that argv names and moves argv behind the name. */
static int find_command(struct cli *cli, const char *const **argv)
{
	for (;;) {
		const char *name = **argv;

		cli->command = cli->parent ? command_find_child(cli->parent, name)
		                           : command_find(commands, name);
		if (!cli->command)
			return command_refuse(commands, cli->parent, name, cli->err);
		(*argv)++;
		if (!cli->command->children)
			return 0;
		cli->parent = cli->command;
		if (!**argv || is_help(**argv))
			return 0;
	}
}

/* Looks ahead for --json, so that errors about the other options are JSON, too. */
static bool wants_json(const char *const *argv)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++) {
		if (strcmp(*argv, "--json") == 0)
			return true;
	}
	return false;
}

/* The parser does not know the parent of a subcommand. */
static void hint_at_usage(struct cli *cli)
{
	const char *first = cli->parent ? cli->parent->name : "", *space = cli->parent ? " " : "";
	const struct cli_command *command = cli->command;

	if (!cli->err->hint[0])
		error_hint(cli->err, "usage: atoll %s%s%s %s; see 'atoll help %s%s%s'", first,
		           space, command->name, command->usage, first, space, command->name);
}

static int run_command(struct cli *cli, const char *const *argv)
{
	if (find_command(cli, &argv) < 0)
		return -1;
	if (cli->command->children) {
		help_show(NULL, cli->command, &cli->display);
		return 0;
	}
	cli->json = cli->json || wants_json(argv);
	if (arguments_parse(cli->arena, cli->command, argv, &cli->args, cli->err) < 0) {
		hint_at_usage(cli);
		return -1;
	}
	if (display_find(arguments_text(&cli->args, "color", NULL), &cli->display, cli->err) < 0)
		return -1;
	if (arguments_has(&cli->args, "help")) {
		help_show(cli->parent, cli->command, &cli->display);
		return 0;
	}
	return cli->command->run ? cli->command->run(cli) : plain_run(cli);
}

int cli_main(int argc, char **argv)
{
	AUTO(arena_done) struct arena arena = {0};
	struct error err = {0};
	struct cli cli = {.arena = &arena, .err = &err};
	char version[] = "version";
	int status;

	/* write(2) reports a closed pipe; a signal in curl or in a thread would kill the
	 * process. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setlocale(LC_CTYPE, "C.UTF-8");          /* for wcwidth: widths in the terminal */
	(void)!display_find(NULL, &cli.display, &err); /* for what needs no command line */
	if (argc > 1 && strcmp(argv[1], "--json") == 0) {
		cli.json = true;
		argc--;
		argv++;
	}
	if (argc < 2 || is_help(argv[1])) {
		help_show(NULL, NULL, &cli.display);
		return 0;
	}
	if (is_version(argv[1]))
		argv[1] = version;
	status = run_command(&cli, (const char *const *)argv + 1);
	if (fflush(stdout) < 0 && status == 0)
		status = FAIL_ERRNO(&err, "write to standard output");
	if (status < 0) {
		print_error(&cli);
		status = cli.interrupted ? 128 + SIGINT : error_kind_get(err.code)->exit_status;
	}
	http_client_close(cli.client);
	return status;
}
