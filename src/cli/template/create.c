/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/core/body.h"
#include "cli/template/recipe.h"
#include "cli/template/template.h"
#include "cli/core/text_out.h"

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

/* Begins the body of a new template; a change has no such members. */
static int write_head(struct cli *cli, struct buf *body)
{
	body_begin(body);
	if (cli->command->run != template_create)
		return 0;
	body_add_text(body, "name", cli->args.words[0]);
	body_add_text(body, "from", arguments_text(&cli->args, "from", NULL));
	body_add_text(body, "image", arguments_text(&cli->args, "image", NULL));
	return template_add_login(cli, body);
}

static int write_body(struct cli *cli, const struct json_value *limits, struct buf *body)
{
	if (write_head(cli, body) < 0 || recipe_write(cli, limits, body) < 0)
		return -1;
	(void)body_end(body);
	if (body->overflowed)
		return FAIL(cli->err, ERROR_TOO_LARGE, "the recipe is too large");
	if (strcmp(buf_text(body), "{}") == 0) {
		(void)FAIL(cli->err, ERROR_INVALID, "nothing to change is given");
		return FAIL_HINT(cli->err, "see 'atoll help template set'");
	}
	return 0;
}

/* Checks the options before a server is asked or started. */
static int make_body(struct cli *cli, const char *template, struct buf *body)
{
	const struct json_value *limits;

	if (write_body(cli, NULL, body) < 0 || cli_connect(cli) < 0 ||
	    find_limits(cli, template, &limits) < 0)
		return -1;
	return limits ? write_body(cli, limits, body) : 0;
}

int template_create(struct cli *cli)
{
	const char *name = cli->args.words[0];
	const char *from = arguments_text(&cli->args, "from", NULL);
	struct server_call call = {.method = "POST", .path = TEMPLATES};
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	const struct json_value *made;

	if (!from == !arguments_has(&cli->args, "image"))
		return FAIL(cli->err, ERROR_INVALID, "give either --from TEMPLATE or --image REF");
	if (make_body(cli, from, &body) < 0)
		return -1;
	call.body = buf_text(&body);
	if (template_call(cli, &call, from ? from : name, &made) < 0)
		return FAIL_CONTEXT(cli->err, "create template '%.64s'", name);
	print_outcome(cli, made, "is ready");
	return 0;
}

int template_set(struct cli *cli)
{
	const char *name = cli->args.words[0];
	struct server_call call = {.method = "PATCH"};
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	const struct json_value *changed;

	if (make_body(cli, name, &body) < 0)
		return -1;
	call.path = escaped_path(cli->arena, TEMPLATES "/", name, "");
	call.body = buf_text(&body);
	if (server_call(cli, &call, &changed) < 0)
		return FAIL_CONTEXT(cli->err, "change template '%.64s'", name);
	print_outcome(cli, changed, "is changed");
	return 0;
}

const struct command_option template_create_options[] = {
        {"from", "TEMPLATE", "template whose root filesystem is shared and whose recipe is copied",
         .completion = COMPLETE_TEMPLATE},
        {"image", "REF", "image in a registry: docker.io/library/debian:12"},
        TEMPLATE_LOGIN_OPTION,
        OPTIONS_RECIPE,
        {0},
};
const struct command_option template_set_options[] = {OPTIONS_RECIPE, {0}};
