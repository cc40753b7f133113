/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/core/body.h"
#include "cli/sandbox/commands.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "json/write.h"

#define BODY_MAX 4096

static const char *path_of(struct cli *cli, const char *action)
{
	return instance_path(cli->arena, cli->args.words[0], action);
}

static int print_state(struct cli *cli, const struct json_value *state)
{
	if (cli->json) {
		print_json(state);
		return 0;
	}
	(void)printf("enabled  %s\npublic   %s\nports    %s\n",
	             json_get_bool(state, "enabled", false) ? "yes" : "no",
	             json_get_bool(state, "public", false) ? "yes" : "no",
	             json_get_text(state, "ports", ""));
	if (!json_get_bool(state, "reachable", true))
		(void)printf("The sandbox has no network and therefore no previews.\n");
	return 0;
}

/* Giving both options is an error, whichever comes last. */
static int add_switch(struct cli *cli, struct buf *body, const char *on, const char *off,
                      const char *member)
{
	bool is_on = arguments_has(&cli->args, on), is_off = arguments_has(&cli->args, off);

	if (is_on && is_off)
		return FAIL(cli->err, ERROR_INVALID, "--%s and --%s contradict each other", on,
		            off);
	if (is_on || is_off)
		json_add_bool(body, member, is_on);
	return 0;
}

static bool has_change(const struct cli *cli)
{
	static const char *const names[] = {"on", "off", "public", "not-public", "rotate"};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (arguments_has(&cli->args, names[i]))
			return true;
	return false;
}

static int change_preview(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct server_call call = {.method = "PATCH", .path = path_of(cli, "/preview")};
	const struct json_value *state;

	body_begin(&body);
	if (add_switch(cli, &body, "on", "off", "enabled") < 0 ||
	    add_switch(cli, &body, "public", "not-public", "public") < 0)
		return -1;
	if (arguments_has(&cli->args, "rotate"))
		json_add_bool(&body, "rotate", true);
	call.body = body_end(&body);
	if (server_call(cli, &call, &state) < 0)
		return -1;
	return cli->args.count > 1 ? 0 : print_state(cli, state);
}

static int make_link(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct server_call call = {.method = "POST", .path = path_of(cli, "/preview-tokens")};
	const struct json_value *link;
	int64_t ttl_ms = 0, port;
	const char *host_url;

	if (span_parse_whole(span_of(cli->args.words[1]), 1, 65535, &port, cli->err) < 0)
		return FAIL_CONTEXT(cli->err, "port '%s'", cli->args.words[1]);
	if (arguments_duration(&cli->args, "ttl", &ttl_ms, cli->err) < 0)
		return -1;
	body_begin(&body);
	json_add_whole(&body, "port", port);
	if (ttl_ms > 0)
		json_add_whole(&body, "ttlSeconds", (ttl_ms + 999) / 1000);
	json_add_bool(&body, "private", !arguments_has(&cli->args, "share"));
	call.body = body_end(&body);
	if (server_call(cli, &call, &link) < 0)
		return -1;
	host_url = json_get_text(link, "hostUrl", NULL);
	if (cli->json)
		print_json(link);
	else
		(void)printf("%s\n", host_url ? host_url : json_get_text(link, "url", ""));
	return 0;
}

static int run_preview(struct cli *cli)
{
	const struct json_value *state;

	if (cli_connect(cli) < 0 || (has_change(cli) && change_preview(cli) < 0))
		return -1;
	if (cli->args.count > 1)
		return make_link(cli);
	if (has_change(cli))
		return 0;
	if (server_get(cli, path_of(cli, "/preview"), &state) < 0)
		return -1;
	return print_state(cli, state);
}

static const struct command_option options[] = {
        {"share", NULL, "make a link for people without a key; needs a public preview"},
        {"ttl", "DURATION", "lifetime of the link (default 1h; 24h with --share)"},
        {"on", NULL, "enable previews of the sandbox"},
        {"off", NULL, "disable previews; all links become invalid"},
        {"public", NULL, "allow links for people without a key"},
        {"not-public", NULL, "forbid shared links; existing ones become invalid"},
        {"rotate", NULL, "make all existing links invalid"},
        {0},
};

const struct cli_command command_preview = {
        .name = "preview",
        .usage = "SANDBOX [PORT]",
        .about = "make a link to a port of a sandbox, or show and change its preview settings",
        .options = options,
        .arguments_min = 1,
        .arguments_max = 2,
        .completion = COMPLETE_SANDBOX,
        .run = run_preview,
};
