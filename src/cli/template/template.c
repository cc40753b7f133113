/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/template/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/sandbox/create.h"
#include "cli/listing.h"
#include "cli/local.h"
#include "cli/server.h"
#include "cli/session.h"
#include "cli/text_out.h"
#include "cli/files/transfer.h"

static const struct listing_column columns[] = {
        {"NAME", "name", NULL},
        {"STATE", "state", NULL},
        {"SIZE", "size_bytes", listing_bytes},
        {"RUNTIME", "runtime", NULL},
        {"DESCRIPTION", "description", NULL},
        {0},
};

/* For completion; TAB must not start a server. */
static int print_names(struct cli *cli)
{
	const struct json_value *answer, *items;

	if (!server_is_there(cli))
		return 0;
	if (cli_connect(cli) < 0 || server_get(cli, TEMPLATES, &answer) < 0)
		return -1;
	items = answer_items(answer);
	for (size_t i = 0; i < json_count(items); i++)
		(void)printf("%s\n", json_text(json_get(json_item_at(items, i), "name"), ""));
	return 0;
}

static int template_ls(struct cli *cli)
{
	if (arguments_has(&cli->args, "names"))
		return print_names(cli);
	return listing_run(cli, TEMPLATES, columns);
}

static int template_seed(struct cli *cli)
{
	struct server_call call = {.method = "POST", .path = TEMPLATES "/seed"};
	const struct json_value *answer;

	if (cli_connect(cli) < 0 || server_call(cli, &call, &answer) < 0)
		return -1;
	if (cli->json)
		print_json(answer);
	else
		(void)printf("%lld added\n", (long long)json_whole(json_get(answer, "added"), 0));
	return 0;
}

static int template_inspect(struct cli *cli)
{
	const char *path = escaped_path(cli->arena, TEMPLATES "/", cli->args.words[0], "");
	const struct json_value *template;

	if (cli_connect(cli) < 0 || server_get(cli, path, &template) < 0)
		return -1;
	print_json(template);
	return 0;
}

static int template_rm(struct cli *cli)
{
	return server_delete_each(cli, TEMPLATES "/", "template");
}

/* The first sandbox of a template builds it, so this makes one and deletes it. */
static int build_seed(struct cli *cli)
{
	struct create_options options = {.template = cli->args.words[0]};
	const char *id = NULL;

	if (cli_connect(cli) < 0)
		return -1;
	session_block_signals();
	if (create_sandbox(cli, &options, &id) < 0) {
		struct error failure = *cli->err;

		if (id && delete_sandbox(cli, id) < 0)
			(void)fprintf(stderr, "atoll: %s\n",
			              text_out_safe(cli->arena, cli->err->text));
		*cli->err = failure;
		return -1;
	}
	if (delete_sandbox(cli, id) < 0)
		return -1;
	if (!cli->json)
		(void)printf("%s is ready\n", options.template);
	else
		(void)printf("{\"ready\":true}\n");
	return 0;
}

static int template_build(struct cli *cli)
{
	if (arguments_has(&cli->args, "file"))
		return template_build_steps(cli);
	if (!cli->args.words[0])
		return FAIL(cli->err, ERROR_INVALID,
		            "give a template to build, or -f FILE and --name NAME");
	return build_seed(cli);
}

int template_login(struct cli *cli, const char **ret)
{
	const char *username = arguments_text(&cli->args, "login", NULL);
	const char *password = getenv(TEMPLATE_PASSWORD);

	*ret = "";
	if (!username)
		return 0;
	if (!password || !*password)
		return FAIL(cli->err, ERROR_INVALID,
		            "--login: put the password into " TEMPLATE_PASSWORD);
	*ret = arena_format(cli->arena, ",\"login\":{\"username\":%s,\"password\":%s}",
	                    json_quoted(cli->arena, username), json_quoted(cli->arena, password));
	return 0;
}

static int import_registry(struct cli *cli, const char *name, const char *reference)
{
	struct server_call call = {.method = "POST", .path = TEMPLATES};
	const char *login;

	if (template_login(cli, &login) < 0)
		return -1;
	call.body = arena_format(cli->arena, "{\"name\":%s,\"image\":%s%s}",
	                         json_quoted(cli->arena, name), json_quoted(cli->arena, reference),
	                         login);
	return template_call(cli, &call, name, NULL);
}

static int import_file(struct cli *cli, const char *name, const char *source, const char *format)
{
	const char *path = escaped_path(cli->arena, TEMPLATES "/import?name=", name, "&format=");

	return transfer_send(cli, "POST", escaped_path(cli->arena, path, format, ""), source);
}

/* A source that is a local file is imported as one; anything else is an image name. */
static int template_import(struct cli *cli)
{
	const char *name = cli->args.words[0], *source = cli->args.words[1], *format;
	struct stat status;
	int result;

	if (cli_connect(cli) < 0)
		return -1;
	if (stat(source, &status) == 0) {
		format = S_ISDIR(status.st_mode) ? "oci" : "tar";
		result = import_file(cli, name, source,
		                     arguments_text(&cli->args, "format", format));
	} else if (source[0] == '/' || source[0] == '.') {
		result = FAIL_ERRNO(cli->err, "open '%s'", source);
	} else {
		result = import_registry(cli, name, source);
	}
	if (result < 0)
		return -1;
	(void)printf(cli->json ? "{\"imported\":%s}\n" : "%s is ready\n",
	             cli->json ? json_quoted(cli->arena, name) : name);
	return 0;
}

static const struct command_option ls_options[] = {
        {.name = "names", .about = "print only names, for completion; does not start a server"},
        {0},
};
static const struct command_option import_options[] = {
        {.name = "format", .value = "FORMAT", .about = "tar, oci, docker-archive or backup"},
        TEMPLATE_LOGIN_OPTION,
        {0},
};

static const struct cli_command list = {
        .name = "ls",
        .usage = "",
        .about = "list templates",
        .options = ls_options,
        .run = template_ls,
};
static const struct cli_command inspect = {
        .name = "inspect",
        .usage = "TEMPLATE",
        .about = "show everything about a template, as JSON",
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_TEMPLATE,
        .run = template_inspect,
};
static const struct cli_command seed = {
        .name = "seed",
        .usage = "",
        .about = "add the default templates that are missing",
        .run = template_seed,
};
static const struct cli_command build = {
        .name = "build",
        .usage = "-f FILE --name NAME [OPTION...] [CONTEXT] | TEMPLATE",
        .about = "build a template from a file, or a default template before its first use",
        .more = "FILE is a Dockerfile (FROM names a template; docs/use/builds.md lists what is "
                "supported)\n"
                "or, if its name ends in .json, the body of a build with \"source\": [\"…\"]\n"
                "in copy steps. CONTEXT is the folder that files are copied from, else the "
                "current\n"
                "one; .atollignore or .dockerignore in it says what is left out. Ctrl-C ends the\n"
                "build.",
        .options = template_build_options,
        .arguments_max = 1,
        .completion = COMPLETE_TEMPLATE,
        .run = template_build,
};
static const struct cli_command import = {
        .name = "import",
        .usage = "[--format FORMAT] [--login USER] NAME SOURCE",
        .about = "make a template from a file, an OCI layout or a registry's image",
        .more = "SOURCE is a root filesystem as tar, a docker-archive, a folder with an OCI\n"
                "layout, or an image reference such as docker.io/library/debian:12.",
        .options = import_options,
        .arguments_min = 2,
        .arguments_max = 2,
        .completion = COMPLETE_FILE,
        .run = template_import,
};
static const struct cli_command remove_it = {
        .name = "rm",
        .usage = "TEMPLATE...",
        .about = "remove templates that no sandbox uses",
        .arguments_min = 1,
        .arguments_max = ANY_NUMBER,
        .completion = COMPLETE_TEMPLATE,
        .run = template_rm,
};
static const struct cli_command *const children[] = {&list,
                                                     &inspect,
                                                     &command_template_create,
                                                     &command_template_set,
                                                     &seed,
                                                     &build,
                                                     &import,
                                                     &remove_it,
                                                     NULL};

const struct cli_command command_template = {
        .name = "template",
        .usage = "COMMAND",
        .about = "list, make, change and remove templates of sandboxes",
        .children = children,
};
