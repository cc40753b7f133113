/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/sandbox/commands.h"
#include "cli/sandbox/create.h"
#include "cli/core/run_options.h"
#include "cli/files/path_argument.h"
#include "cli/terminal/terminal.h"
#include "cli/core/text_out.h"
#include "cli/files/transfer.h"

#define LEFT_MS 30000 /* how long a sandbox outlives an 'atoll run' that was killed */

static int copy_files_in(struct cli *cli, const char *id)
{
	const char *local, *remote, *text;

	for (unsigned i = 0; (text = arguments_text_at(&cli->args, "copy", i)); i++) {
		if (copy_option_parse(cli->arena, text, &local, &remote, cli->err) < 0 ||
		    transfer_to_sandbox(cli, local, id, remote) < 0)
			return FAIL_CONTEXT(cli->err, "copy '%s'", text);
	}
	return 0;
}

static int run_inside(struct cli *cli, const struct session_options *o, bool *ret_detached)
{
	struct terminal_options terminal = {
	        .sandbox = o->sandbox,
	        .args = o->args,
	        .cwd = o->cwd,
	        .user = o->user,
	        .record = o->is_recorded,
	};
	int status;

	if (copy_files_in(cli, o->sandbox) < 0)
		return -1;
	if (arguments_has(&cli->args, "interactive") && terminal_is_here())
		return terminal_run(cli, &terminal, &status, ret_detached) < 0 ? -1 : status;
	if (cli->json)
		return session_collect(cli, o, &status) < 0 ? -1 : status;
	return session_run(cli, o, &status) < 0 ? -1 : status;
}

/* Keeps the first error; an error of the delete is only printed. */
static void end_sandbox(struct cli *cli, const char *id)
{
	struct error *first = cli->err, second;

	cli->err = &second;
	if (delete_sandbox(cli, id) < 0)
		(void)fprintf(stderr, "atoll: %s\n", text_out_safe(cli->arena, second.text));
	cli->err = first;
}

/* For a user at a terminal, or without a given name. */
static void tell_kept(struct cli *cli, const char *id, bool detached)
{
	const char *name = arguments_text(&cli->args, "name", NULL);

	if (name && !detached && !isatty(STDERR_FILENO))
		return;
	(void)fprintf(stderr, "%skept: %s (atoll rm %s)\n", detached ? "\r\n" : "",
	              name ? name : id, name ? name : id);
}

/* Before the sandbox is made. */
static int check_copies(struct cli *cli)
{
	const char *local, *remote, *text;

	for (unsigned i = 0; (text = arguments_text_at(&cli->args, "copy", i)); i++) {
		if (copy_option_parse(cli->arena, text, &local, &remote, cli->err) < 0)
			return -1;
	}
	return 0;
}

/* A dry run needs no command. */
static int parse_session(struct cli *cli, struct session_options *ret)
{
	if (cli->args.inner || !arguments_has(&cli->args, "dry-run"))
		return run_options_parse(cli, ret);
	ret->env = arguments_list(cli, "env");
	return 0;
}

static int run_in_new_sandbox(struct cli *cli)
{
	bool keep = arguments_has(&cli->args, "keep"), detached = false;
	struct session_options session = {0};
	struct create_options create;
	const char *id = NULL;
	int status;

	if (parse_session(cli, &session) < 0 || create_options_parse(cli, &create) < 0 ||
	    check_copies(cli) < 0)
		return -1;
	create.env = session.env; /* environment of the sandbox, so that --keep keeps it */
	session.env = NULL;
	/* Without this process the sandbox soon counts as idle. A terminal may detach and stay. */
	if (!keep && !arguments_has(&cli->args, "interactive"))
		create.idle_reap_ms = LEFT_MS;
	if (cli_connect(cli) < 0)
		return -1;
	if (arguments_has(&cli->args, "dry-run"))
		return plan_sandbox(cli, &create);
	session_block_signals();
	status = create_sandbox(cli, &create, &id);
	session.sandbox = id;
	if (status == 0)
		status = run_inside(cli, &session, &detached);
	if (id && (keep || detached))
		tell_kept(cli, id, detached);
	else if (id)
		end_sandbox(cli, id);
	return status;
}

static const struct command_option options[] = {
        OPTION_TEMPLATE_OR_IMAGE,
        OPTION_PULL,
        OPTION_SNAPSHOT,
        OPTION_CONFIG,
        {"name", "NAME", "name of the sandbox"},
        OPTIONS_RUN,
        OPTION_RECORD,
        OPTIONS_RESOURCES,
        OPTIONS_PROVIDER,
        OPTION_VOLUME,
        OPTION_WORKSPACE,
        OPTION_NO_INTERNET,
        OPTION_GPUS,
        OPTIONS_EGRESS,
        {"copy", "LOCAL:REMOTE", "copy a file or folder into the sandbox first", .repeats = true,
         .completion = COMPLETE_FILE},
        {"dry-run", NULL, "print the sandbox and its price, and make and run nothing"},
        {"keep", NULL, "keep the sandbox after the command has ended"},
        {0},
};

const struct cli_command command_run = {
        .name = "run",
        .usage = "[OPTION...] -- COMMAND [ARG...]",
        .about = "run a command in a new sandbox and delete the sandbox afterwards",
        .more = "Output, input, Ctrl-C and the exit status are the command's, as if it ran here.\n"
                "A second Ctrl-C kills it. Before the command runs, a Ctrl-C cancels the create "
                "of\n"
                "the sandbox, also with --keep. Statuses 120 to 125 tell that Atoll itself "
                "failed,\n"
                "124 that the time was over.",
        .options = options,
        .has_inner_command = true,
        .run = run_in_new_sandbox,
};
