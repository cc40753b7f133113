/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox/network.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "cli/core/body.h"
#include "cli/sandbox/commands.h"
#include "cli/core/resources.h"
#include "cli/core/run_options.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "json/write.h"

#define BODY_MAX (256 * 1024)
#define RULES_MAX (64 * 1024)

struct cli_egress egress_options(struct cli *cli)
{
	return (struct cli_egress){
	        .allow = arguments_list(cli, "allow"),
	        .deny = arguments_list(cli, "deny"),
	        .presets = arguments_list(cli, "preset"),
	        .credentials = arguments_list(cli, "credential"),
	        .mode = arguments_text(&cli->args, "mode", NULL),
	        .rules = arguments_text(&cli->args, "rules", NULL),
	};
}

bool egress_is_said(const struct cli_egress *e)
{
	return (e->allow && e->allow[0]) || (e->deny && e->deny[0]) ||
	       (e->presets && e->presets[0]) || (e->credentials && e->credentials[0]) || e->mode ||
	       e->rules;
}

static int add_rules(struct buf *body, const char *path, struct error *err)
{
	AUTO(buf_done) struct buf file = BUF(RULES_MAX);
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	const struct json_value *rules;

	if (!path)
		return 0;
	if (file_read(AT_FDCWD, path, &file, err) < 0 ||
	    json_load(&a, buf_span(&file), &rules, err) < 0)
		return FAIL_CONTEXT(err, "--rules");
	json_add_value(body, "rules", json_get(rules, "rules") ? json_get(rules, "rules") : rules);
	return 0;
}

int egress_add(struct buf *body, const struct cli_egress *e, struct error *err)
{
	static const char *const everything[] = {"0.0.0.0/0", NULL};
	bool is_list = e->allow && e->allow[0] && (!e->deny || !e->deny[0]);

	body_add_texts(body, "allow", e->allow);
	body_add_texts(body, "deny", is_list ? everything : e->deny);
	body_add_texts(body, "presets", e->presets);
	body_add_texts(body, "credentials", e->credentials);
	body_add_text(body, "mode", e->mode);
	return add_rules(body, e->rules, err);
}

static void print_rules(const char *word, const struct json_value *list)
{
	for (size_t i = 0; i < json_count(list); i++)
		(void)printf("%s  %s\n", word, json_text(json_item_at(list, i), ""));
}

static void print_credential_rules(struct cli *cli, const struct json_value *list)
{
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json_value *rule = json_item_at(list, i);

		(void)printf("rule   %s  %s  %s\n",
		             text_out_safe(cli->arena, json_get_text(rule, "id", "")),
		             text_out_safe(cli->arena, json_get_text(rule, "host", "")),
		             json_get_text(rule, "action", ""));
	}
}

static int print_network(struct cli *cli, const struct json_value *sandbox)
{
	const struct json_value *rules = json_get(sandbox, "egress");

	if (cli->json) {
		print_json(rules);
		return 0;
	}
	(void)printf("network %s\n", json_get_text(sandbox, "network", ""));
	if (json_get_text(sandbox, "egress_cut", NULL))
		(void)printf("cut   %s\n",
		             text_out_safe(cli->arena, json_get_text(sandbox, "egress_cut", "")));
	if (json_get_text(rules, "mode", NULL))
		(void)printf("mode  %s\n", json_get_text(rules, "mode", ""));
	print_rules("allow", json_get(rules, "allow"));
	print_rules("deny ", json_get(rules, "deny"));
	print_credential_rules(cli, json_get(rules, "rules"));
	return 0;
}

static int run_network(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	const struct cli_egress said = egress_options(cli);
	bool is_cleared = arguments_has(&cli->args, "clear"), is_said = egress_is_said(&said);
	struct server_call call = {.method = "GET"};
	const struct json_value *sandbox;

	if (is_cleared && is_said)
		return FAIL(cli->err, ERROR_INVALID, "--clear and rules exclude each other");
	if (is_cleared || is_said) {
		body_begin(&body);
		if (egress_add(&body, &said, cli->err) < 0)
			return -1;
		call = (struct server_call){.method = "PUT", .body = body_end(&body)};
	}
	call.path = instance_path(cli->arena, cli->args.words[0], call.body ? "/egress" : "");
	if (cli_connect(cli) < 0 || server_call(cli, &call, &sandbox) < 0)
		return -1;
	return print_network(cli, sandbox);
}

static const struct command_option options[] = {
        OPTIONS_EGRESS,
        {"clear", NULL, "remove all rules"},
        {0},
};

const struct cli_command command_network = {
        .name = "network",
        .usage = "SANDBOX [--allow ADDRESS|HOST]... [--deny ADDRESS]... [--preset PRESET]... "
                 "[--credential NAME]... [--mode MODE] [--rules FILE] | --clear",
        .about = "show or replace the network rules of a sandbox",
        .more = "Allow rules win over deny rules. New rules also apply to open connections.",
        .options = options,
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_SANDBOX,
        .run = run_network,
};
