/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/core/body.h"
#include "cli/tool/commands.h"
#include "cli/core/listing.h"
#include "cli/core/resources.h"
#include "cli/core/server.h"
#include "cli/core/session.h"
#include "cli/core/text_out.h"
#include "json/write.h"

#define TOOLS "/v1/tools"
#define BODY_MAX ((size_t)16 << 20)
#define LEASE_DEFAULT "tool"
#define PENDING_STATUS 75 /* EX_TEMPFAIL: nothing was done; a later call may succeed */

static int list_tools(struct cli *cli)
{
	static const struct listing_column columns[] = {
	        {"TOOL", "name", NULL}, {"WHAT IT DOES", "title", NULL}, {0}};
	const struct json_value *answer;

	if (server_get(cli, TOOLS, &answer) < 0)
		return -1;
	if (cli->json)
		print_json(json_get(answer, "tools"));
	else
		listing_print(cli, json_get(answer, "tools"), columns);
	return 0;
}

static const struct json_value *find_schema(const struct json_value *answer, const char *name)
{
	const struct json_value *items = json_get(answer, "tools");

	for (size_t i = 0; i < json_count(items); i++)
		if (strcmp(json_get_text(json_item_at(items, i), "name", ""), name) == 0)
			return json_get(json_get(json_item_at(items, i), "inputSchema"),
			                "properties");
	return NULL;
}

static int fail_argument(struct cli *cli, const struct json_value *schema, const char *word)
{
	AUTO(buf_done) struct buf known = BUF(ERROR_HINT_MAX - 64);
	const char *key = NULL;

	for (size_t i = 0; json_member_at(schema, i, &key); i++)
		buf_addf(&known, "%s%s", i > 0 ? ", " : "", key);
	(void)FAIL(cli->err, ERROR_INVALID, "'%.100s' is not an argument of this tool", word);
	return FAIL_HINT(cli->err, "use KEY=VALUE with one of: %s", buf_text(&known));
}

/* Adds "path=a.txt" as text, "limit=5" as a number, as the schema says. */
static int add_argument(struct cli *cli, const struct json_value *schema, const char *word,
                        struct buf *input)
{
	struct span value = span_of(word), key;
	const struct json_value *member, *parsed;
	const char *name, *type;

	if (!span_split(&value, '=', &key))
		return fail_argument(cli, schema, word);
	name = arena_copy(cli->arena, key);
	member = json_get(schema, name);
	if (!member)
		return fail_argument(cli, schema, word);
	type = json_get_text(member, "type", "");
	if (strcmp(type, "string") == 0) {
		json_add_span(input, name, value);
		return 0;
	}
	if (json_load(cli->arena, value, &parsed, cli->err) < 0)
		return FAIL_CONTEXT(cli->err, "%s: expected JSON of type %s", name, type);
	json_add_raw(input, name, value);
	return 0;
}

/* Of a tool that takes it: --record is the argument record=true. */
static int add_record(struct cli *cli, const struct json_value *schema, struct buf *input)
{
	if (!arguments_has(&cli->args, "record"))
		return 0;
	if (!json_get(schema, "record"))
		return FAIL(cli->err, ERROR_INVALID, "the tool '%.64s' records nothing",
		            cli->args.words[0]);
	json_add_bool(input, "record", true);
	return 0;
}

static int read_input(struct cli *cli, const struct json_value *schema, struct buf *input)
{
	json_begin_object(input, NULL);
	for (unsigned i = 1; i < cli->args.count; i++)
		if (add_argument(cli, schema, cli->args.words[i], input) < 0)
			return -1;
	if (add_record(cli, schema, input) < 0)
		return -1;
	json_end_object(input);
	return 0;
}

static int request_body(struct cli *cli, const struct buf *input, struct buf *body)
{
	const struct cli_arguments *args = &cli->args;
	const char *sandbox = arguments_text(args, "sandbox", NULL);
	const char *workspace = arguments_text(args, "workspace", NULL);
	bool is_ephemeral = arguments_has(args, "ephemeral");
	bool has_default = !sandbox && !workspace && !is_ephemeral;
	const char *lease = arguments_text(args, "lease", has_default ? LEASE_DEFAULT : NULL);

	if (is_ephemeral && (sandbox || lease))
		return FAIL(cli->err, ERROR_INVALID, "--ephemeral excludes --sandbox and --lease");

	body_begin(body);
	body_add_text(body, "sandboxId", sandbox);
	body_add_text(body, "lease", lease);
	body_add_text(body, "workspace", workspace);
	if (is_ephemeral)
		json_add_bool(body, "ephemeral", true);
	body_add_text(body, "config", arguments_text(args, "config", NULL));
	body_add_text(body, "conversationId", arguments_text(args, "conversation", NULL));
	if (body_add_json(body, "origin", arguments_text(args, "origin", NULL), cli->err) < 0)
		return -1;
	json_add_raw(body, "input", buf_span(input));
	(void)body_end(body);
	return 0;
}

static void print_content(struct cli *cli, const struct json_value *item)
{
	const char *type = json_get_text(item, "type", "");
	const struct json_value *from = json_get(item, "resource");

	if (strcmp(type, "text") == 0) {
		const char *text = json_get_text(item, "text", "");
		size_t size = strlen(text);

		(void)printf("%s%s", text, size == 0 || text[size - 1] == '\n' ? "" : "\n");
		return;
	}
	(void)printf(
	        "[%s; --json shows its bytes]\n",
	        text_out_safe(cli->arena, json_get_text(from ? from : item, "mimeType", type)));
}

static int print_result(struct cli *cli, const struct json_value *answer)
{
	const struct json_value *content = json_get(answer, "content");
	int64_t status = json_get_whole(json_get(answer, "structuredContent"), "exit_code", 0);

	if (cli->json)
		print_json(answer);
	for (size_t i = 0; i < json_count(content) && !cli->json; i++)
		print_content(cli, json_item_at(content, i));
	if (!cli->json)
		session_print_recording(json_get(answer, "structuredContent"));
	if (json_get(answer, "approvalId"))
		return PENDING_STATUS;
	return (int)(status & 0xff);
}

static int run_tool(struct cli *cli)
{
	AUTO(buf_done) struct buf input = BUF(BODY_MAX), body = BUF(BODY_MAX + 4096);
	const struct json_value *listed, *schema, *answer;
	struct server_call call = {.method = "POST"};

	if (cli_connect(cli) < 0)
		return -1;
	if (cli->args.count == 0)
		return list_tools(cli);
	if (server_get(cli, TOOLS, &listed) < 0)
		return -1;
	schema = find_schema(listed, cli->args.words[0]);
	if (!schema) {
		(void)FAIL(cli->err, ERROR_NOT_FOUND, "no tool '%.64s'", cli->args.words[0]);
		return FAIL_HINT(cli->err, "atoll tool lists them");
	}
	if (read_input(cli, schema, &input) < 0 || request_body(cli, &input, &body) < 0)
		return -1;
	call.path = escaped_path(cli->arena, TOOLS "/", cli->args.words[0], "");
	call.body = buf_text(&body);
	if (input.overflowed || body.overflowed)
		return FAIL(cli->err, ERROR_TOO_LARGE, "the input is larger than %zu bytes",
		            BODY_MAX);
	if (server_call(cli, &call, &answer) < 0)
		return -1;
	return print_result(cli, answer);
}

static const struct command_option options[] = {
        {"sandbox", "SANDBOX", "id or name of the sandbox to act in", .letter = 's',
         .completion = COMPLETE_SANDBOX},
        {"lease", "KEY",
         "the lease whose sandbox to use, made on first use (default " LEASE_DEFAULT ")"},
        {"config", "NAME", "sandbox config that limits the tools"},
        OPTION_EPHEMERAL,
        {"workspace", "NAME",
         "files of the call, at /mnt/workspaces/NAME; without --lease the call is ephemeral"},
        {"conversation", "ID", "conversation that owns background jobs"},
        {"origin", "JSON", "origin of the call, for reports of jobs and approvals"},
        {"record", NULL, "record the output of bash or run_code, and print how to replay it"},
        {0},
};

const struct cli_command command_tool = {
        .name = "tool",
        .usage = "[OPTION...] [NAME KEY=VALUE...]",
        .about = "call one of the agent tools, or list them",
        .more = "  atoll tool write path=a.txt content=hello\n"
                "  atoll tool bash command='cat a.txt'\n"
                "  atoll tool --ephemeral bash command='uname -a'\n"
                "\n"
                "The exit status is the command's; 75 if the call waits for approval.",
        .options = options,
        .arguments_max = ANY_NUMBER,
        .run = run_tool,
};
