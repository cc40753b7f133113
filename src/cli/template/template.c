/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/template/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/core/body.h"
#include "cli/template/commands.h"
#include "cli/sandbox/create.h"
#include "cli/core/listing.h"
#include "cli/core/server.h"
#include "cli/core/session.h"
#include "cli/core/text_out.h"
#include "cli/files/transfer.h"
#include "json/write.h"

#define BODY_MAX 65536

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
		(void)printf("%s\n", json_get_text(json_item_at(items, i), "name", ""));
	return 0;
}

static int template_ls(struct cli *cli)
{
	if (arguments_has(&cli->args, "names"))
		return print_names(cli);
	return listing_run(cli, TEMPLATES, columns);
}

static void print_added(UNUSED struct cli *cli, const struct json_value *answer)
{
	(void)printf("%lld added\n", (long long)json_get_whole(answer, "added", 0));
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

int template_add_login(struct cli *cli, struct buf *body)
{
	const char *username = arguments_text(&cli->args, "login", NULL);
	const char *password = getenv(TEMPLATE_PASSWORD);

	if (!username)
		return 0;
	if (!password || !*password)
		return FAIL(cli->err, ERROR_INVALID,
		            "--login: put the password into " TEMPLATE_PASSWORD);
	json_begin_object(body, "login");
	body_add_text(body, "username", username);
	body_add_text(body, "password", password);
	json_end_object(body);
	return 0;
}

static int import_registry(struct cli *cli, const char *name, const char *reference)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct server_call call = {.method = "POST", .path = TEMPLATES};

	body_begin(&body);
	body_add_text(&body, "name", name);
	body_add_text(&body, "image", reference);
	if (template_add_login(cli, &body) < 0)
		return -1;
	call.body = body_end(&body);
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
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
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
	if (cli->json) {
		body_begin(&body);
		body_add_text(&body, "imported", name);
	}
	(void)printf(cli->json ? "%s\n" : "%s is ready\n", cli->json ? body_end(&body) : name);
	return 0;
}

static const struct command_option ls_options[] = {
        {"names", NULL, "print only names, for completion; does not start a server"},
        {0},
};
static const struct command_option import_options[] = {
        {"format", "FORMAT", "tar, oci, docker-archive or backup"},
        TEMPLATE_LOGIN_OPTION,
        {0},
};

static const struct cli_command children[] = {
        {"ls", "", "list templates", .options = ls_options,
         .operation = "GET /api/sandbox/templates", .columns = columns, .run = template_ls},
        {"inspect", "TEMPLATE", "show everything about a template, as JSON",
         .completion = COMPLETE_TEMPLATE, .operation = "GET /api/sandbox/templates/{template}",
         .prints = "*"},
        {"create", "NAME --from TEMPLATE|--image REF [OPTION...] [-- ENTRYPOINT [ARG...]]",
         "make a template from another one or from a registry's image", .more = ABOUT_RECIPE,
         .options = template_create_options, .arguments_min = 1, .arguments_max = 1,
         .own_arguments = 1, .has_inner_command = true, .run = template_create},
        {"set", "TEMPLATE OPTION... [-- ENTRYPOINT [ARG...]]",
         "change a template; this affects sandboxes that are made later", .more = ABOUT_RECIPE,
         .options = template_set_options, .arguments_min = 1, .arguments_max = 1,
         .own_arguments = 1, .has_inner_command = true, .completion = COMPLETE_TEMPLATE,
         .run = template_set},
        {"seed", "", "add the default templates that are missing",
         .operation = "POST /api/sandbox/templates/seed", .print = print_added},
        {"build", "-f FILE --name NAME [OPTION...] [CONTEXT] | TEMPLATE",
         "build a template from a file, or a default template before its first use",
         .more = "FILE is a Dockerfile (FROM names a template; docs/use/builds.md lists what is "
                 "supported)\n"
                 "or, if its name ends in .json, the body of a build with \"source\": [\"…\"]\n"
                 "in copy steps. CONTEXT is the folder that files are copied from, else the "
                 "current\n"
                 "one; .atollignore or .dockerignore in it says what is left out. Ctrl-C ends the\n"
                 "build.",
         .options = template_build_options, .arguments_max = 1, .completion = COMPLETE_TEMPLATE,
         .run = template_build},
        {"import", "[--format FORMAT] [--login USER] NAME SOURCE",
         "make a template from a file, an OCI layout or a registry's image",
         .more = "SOURCE is a root filesystem as tar, a docker-archive, a folder with an OCI\n"
                 "layout, or an image reference such as docker.io/library/debian:12.",
         .options = import_options, .arguments_min = 2, .arguments_max = 2,
         .completion = COMPLETE_FILE, .run = template_import},
        {"rm", "TEMPLATE...", "remove templates that no sandbox uses",
         .completion = COMPLETE_TEMPLATE, .operation = "DELETE /api/sandbox/templates/{template}",
         .arguments_min = 1, .arguments_max = ANY_NUMBER, .removes = "template"},
        {0},
};

const struct cli_command command_template = {
        .name = "template",
        .usage = "COMMAND",
        .about = "list, make, change and remove templates of sandboxes",
        .children = children,
};
