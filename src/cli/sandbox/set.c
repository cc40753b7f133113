/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/core/body.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "cli/sandbox/commands.h"
#include "json/write.h"
#include "sandbox/timeouts.h"

#define BODY_MAX (256 * 1024)

static bool is_key_of(const char *pair, const char *key)
{
	size_t size = strlen(key);

	return strncmp(pair, key, size) == 0 && pair[size] == '=';
}

static bool is_replaced(struct cli *cli, const char *key)
{
	const char *text;

	for (unsigned i = 0; (text = arguments_text_at(&cli->args, "label", i)); i++)
		if (is_key_of(text, key))
			return true;
	for (unsigned i = 0; (text = arguments_text_at(&cli->args, "unlabel", i)); i++)
		if (strcmp(text, key) == 0)
			return true;
	return false;
}

/* The labels that it has, with those of the command line. */
static int add_labels(struct cli *cli, const struct json_value *sandbox, struct buf *body)
{
	const struct json_value *labels = json_get(sandbox, "labels"), *value;
	const char *key, *text;

	if (!arguments_has(&cli->args, "label") && !arguments_has(&cli->args, "unlabel"))
		return 0;
	json_begin_object(body, "labels");
	for (size_t i = 0; i < json_count(labels); i++) {
		value = json_member_at(labels, i, &key);
		if (!is_replaced(cli, key))
			json_add_text(body, key, json_text(value, ""));
	}
	for (unsigned i = 0; (text = arguments_text_at(&cli->args, "label", i)); i++) {
		struct span rest = span_of(text), name;

		if (!span_split(&rest, '=', &name) || name.size == 0)
			return FAIL(cli->err, ERROR_INVALID, "--label '%s' is not KEY=VALUE", text);
		json_add_text(body, arena_copy(cli->arena, name), rest.data);
	}
	json_end_object(body);
	return 0;
}

struct timeout_option {
	const char *option, *member;
};
#define TIMEOUT_OPTION(stem, off, api, short_, option, about, ...)                                 \
	{                                                                                          \
		option, api                                                                        \
	}
static const struct timeout_option timeout_options[] = {
        SANDBOX_INHERITED_TIMEOUTS(TIMEOUT_OPTION),
        {"archive-after", "autoArchiveMs"},
        {"delete-after", "autoDeleteMs"},
        {"timeout", "timeout_ms"},
};

static int add_timeouts(struct cli *cli, struct buf *body)
{
	for (size_t i = 0; i < COUNT_OF(timeout_options); i++) {
		const struct timeout_option *o = &timeout_options[i];
		const char *text = arguments_text(&cli->args, o->option, NULL);
		int64_t ms = 0;

		if (!text)
			continue;
		if (strcmp(text, "never") != 0 &&
		    arguments_duration(&cli->args, o->option, &ms, cli->err) < 0)
			return -1;
		json_add_whole(body, o->member, ms);
	}
	return 0;
}

static int add_persistence(struct cli *cli, struct buf *body)
{
	bool persistent = arguments_has(&cli->args, "persistent"),
	     ephemeral = arguments_has(&cli->args, "ephemeral");

	if (persistent && ephemeral)
		return FAIL(cli->err, ERROR_INVALID,
		            "--persistent and --ephemeral exclude each other");
	if (persistent || ephemeral)
		json_add_bool(body, "persistent", persistent);
	return 0;
}

static int run_set(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	const char *path = instance_path(cli->arena, cli->args.words[0], "");
	struct server_call call = {.method = "PATCH", .path = path};
	const struct json_value *sandbox;

	if (cli_connect(cli) < 0 || server_get(cli, path, &sandbox) < 0)
		return -1;
	body_begin(&body);
	body_add_text(&body, "name", arguments_text(&cli->args, "name", NULL));
	if (add_labels(cli, sandbox, &body) < 0 || add_timeouts(cli, &body) < 0 ||
	    add_persistence(cli, &body) < 0)
		return -1;
	/* Labels that another client changes meanwhile would be lost. */
	if (arguments_has(&cli->args, "label") || arguments_has(&cli->args, "unlabel"))
		json_add_whole(&body, "version", json_get_whole(sandbox, "version", 0));
	call.body = body_end(&body);
	if (server_call(cli, &call, &sandbox) < 0)
		return -1;
	if (cli->json)
		print_json(sandbox);
	else
		(void)printf("%s\n", json_get_text(sandbox, "name", ""));
	return 0;
}

#define TIMEOUT_CHOICE(stem, off, api, short_, option, about, ...)                                 \
	{                                                                                          \
		option, "DURATION", about ", or never"                                             \
	}
static const struct command_option options[] = {
        {"name", "NAME", "the new name, unique in the project", .letter = 'n'},
        {"label", "KEY=VALUE", "add or change a label", .letter = 'l', .repeats = true},
        {"unlabel", "KEY", "remove a label", .repeats = true},
        {"persistent", NULL, "the idle timeout does not delete the sandbox"},
        {"ephemeral", NULL, "the idle timeout deletes the sandbox"},
        SANDBOX_INHERITED_TIMEOUTS(TIMEOUT_CHOICE),
        {"archive-after", "DURATION",
         "time after a stop until the files move to the blob store, or never"},
        {"delete-after", "DURATION", "time after a stop until the sandbox is deleted, or never"},
        {"timeout", "DURATION", "time from now until the sandbox ends, or never"},
        {0},
};

const struct cli_command command_set = {
        .name = "set",
        .usage = "SANDBOX OPTION...",
        .about = "change the name, labels and timeouts of a sandbox",
        .options = options,
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_SANDBOX,
        .run = run_set,
};
