/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/template/recipe.h"
#include "cli/template/template.h"
#include "cli/text_out.h"

#define BODY_MAX (4u * 1024 * 1024)

/* The template's present limits, needed if only some are given. */
static int find_limits(struct cli *cli, const char *template, const struct json_value **ret)
{
	const struct json_value *found = NULL;

	if (template && recipe_needs_limits(&cli->args)) {
		const char *path = escaped_path(cli->arena, TEMPLATES "/", template, "");

		if (server_get(cli, path, &found) < 0)
			return -1;
	}
	*ret = json_get(found, "resources");
	return 0;
}

static void print_outcome(struct cli *cli, const struct json_value *template, const char *news)
{
	if (cli->json)
		print_json(template);
	else
		(void)printf("%s %s\n", text_out_safe(cli->arena, cli->args.words[0]), news);
}

/* `head` is the beginning of the object. */
static int write_body(struct cli *cli, const char *head, const struct json_value *limits,
                      struct buf *body)
{
	buf_reset(body);
	buf_add_text(body, head);
	if (recipe_write(cli, limits, body) < 0)
		return -1;
	buf_add_byte(body, '}');
	if (body->overflowed)
		return FAIL(cli->err, ERROR_TOO_LARGE, "the recipe is too large");
	if (strcmp(buf_text(body), "{}") == 0) {
		(void)FAIL(cli->err, ERROR_INVALID, "nothing to change is given");
		error_hint(cli->err, "see 'atoll help template set'");
		return -1;
	}
	return 0;
}

/* Checks the options before a server is asked or started. */
static int make_body(struct cli *cli, const char *head, const char *template, struct buf *body)
{
	const struct json_value *limits;

	if (write_body(cli, head, NULL, body) < 0 || cli_connect(cli) < 0 ||
	    find_limits(cli, template, &limits) < 0)
		return -1;
	return limits ? write_body(cli, head, limits, body) : 0;
}

static int template_create(struct cli *cli)
{
	const char *name = cli->args.words[0], *head, *login;
	const char *from = arguments_text(&cli->args, "from", NULL);
	const char *image = arguments_text(&cli->args, "image", NULL);
	struct server_call call = {.method = "POST", .path = TEMPLATES};
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	const struct json_value *made;

	if (!from == !image)
		return FAIL(cli->err, ERROR_INVALID, "give either --from TEMPLATE or --image REF");
	if (template_login(cli, &login) < 0)
		return -1;
	head = arena_format(cli->arena, "{\"name\":%s,\"%s\":%s%s", json_quoted(cli->arena, name),
	                    from ? "from" : "image", json_quoted(cli->arena, from ? from : image),
	                    login);
	if (make_body(cli, head, from, &body) < 0)
		return -1;
	call.body = buf_text(&body);
	if (template_call(cli, &call, from ? from : name, &made) < 0)
		return FAIL_CONTEXT(cli->err, "create template '%.64s'", name);
	print_outcome(cli, made, "is ready");
	return 0;
}

static int template_set(struct cli *cli)
{
	const char *name = cli->args.words[0];
	struct server_call call = {.method = "PATCH"};
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	const struct json_value *changed;

	if (make_body(cli, "{", name, &body) < 0)
		return -1;
	call.path = escaped_path(cli->arena, TEMPLATES "/", name, "");
	call.body = buf_text(&body);
	if (server_call(cli, &call, &changed) < 0)
		return FAIL_CONTEXT(cli->err, "change template '%.64s'", name);
	print_outcome(cli, changed, "is changed");
	return 0;
}

static const struct command_option create_options[] = {
        {.name = "from",
         .value = "TEMPLATE",
         .about = "template whose root filesystem is shared and whose recipe is copied",
         .completion = COMPLETE_TEMPLATE},
        {.name = "image",
         .value = "REF",
         .about = "image in a registry: docker.io/library/debian:12"},
        TEMPLATE_LOGIN_OPTION,
        OPTIONS_RECIPE,
        {0},
};
static const struct command_option set_options[] = {OPTIONS_RECIPE, {0}};

#define ABOUT_RECIPE                                                                               \
	"The words after -- are the entrypoint. Options that are not given keep the value of "     \
	"the\n"                                                                                    \
	"template or image. --env and --port replace all earlier values, a limit only itself."

const struct cli_command command_template_create = {
        .name = "create",
        .usage = "NAME --from TEMPLATE|--image REF [OPTION...] [-- ENTRYPOINT [ARG...]]",
        .about = "make a template from another one or from a registry's image",
        .more = ABOUT_RECIPE,
        .options = create_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .own_arguments = 1,
        .has_inner_command = true,
        .run = template_create,
};
const struct cli_command command_template_set = {
        .name = "set",
        .usage = "TEMPLATE OPTION... [-- ENTRYPOINT [ARG...]]",
        .about = "change a template; this affects sandboxes that are made later",
        .more = ABOUT_RECIPE,
        .options = set_options,
        .arguments_min = 1,
        .arguments_max = 1,
        .own_arguments = 1,
        .has_inner_command = true,
        .completion = COMPLETE_TEMPLATE,
        .run = template_set,
};
