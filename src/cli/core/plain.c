/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/plain.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/core/body.h"
#include "cli/core/listing.h"
#include "cli/core/operations.h"
#include "cli/core/run_options.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "json/write.h"

#define BODY_MAX (512 * 1024)
#define PATH_SIZE_MAX (64 * 1024)
#define NAME_SIZE_MAX 64

struct call_writer {
	struct cli *cli;
	const struct cli_command *command;
	const struct api_operation *operation;
	struct buf path, body;
	unsigned words; /* number of arguments in the path */
};

/* Writes "limit_usd" of "limit_usd=1", or "warn_at" of the option "warn-at". Returns the value, or
 * NULL. */
static const char *split_member(const char *from, char name[NAME_SIZE_MAX])
{
	size_t size = strcspn(from, "=");

	assert(size < NAME_SIZE_MAX);
	for (size_t i = 0; i < size; i++)
		name[i] = from[i] == '-' ? '_' : from[i];
	name[size] = '\0';
	return from[size] ? from + size + 1 : NULL;
}

static bool is_path_parameter(const struct cli_command *command, const char *name)
{
	const char *at = strchr(command->operation, '{');

	for (; at; at = strchr(at + 1, '{')) {
		if (strncmp(at + 1, name, strlen(name)) == 0 && at[1 + strlen(name)] == '}')
			return true;
	}
	return false;
}

const struct operation_member *plain_member(const struct cli_command *command,
                                            const struct command_option *option,
                                            const char **ret_value)
{
	char name[NAME_SIZE_MAX];

	*ret_value = split_member(option->member ? option->member : option->name, name);
	if (!name[0] || is_path_parameter(command, name))
		return NULL;
	return operation_member_find(operation_find(command->operation), name);
}

static const struct command_option *find_path_option(const struct cli_command *command,
                                                     struct span parameter)
{
	for (const struct command_option *o = command_options(command); o && o->name; o++) {
		if (span_equals_text(parameter, o->name))
			return o;
	}
	return NULL;
}

/* Splits "…{NAME}…"; false after the last parameter. */
static bool split_parameter(const char **rest, struct span *ret)
{
	const char *at = strchr(*rest, '{');

	if (!at)
		return false;
	*ret = (struct span){at + 1, strcspn(at + 1, "}")};
	*rest = at + 1 + ret->size;
	return true;
}

unsigned plain_words(const struct cli_command *command)
{
	const char *rest = command->operation;
	unsigned count = command->word ? 1 : 0;
	struct span parameter;

	while (rest && split_parameter(&rest, &parameter)) {
		if (!find_path_option(command, parameter))
			count++;
	}
	return count;
}

static void add_path(struct call_writer *w)
{
	const struct cli_arguments *args = &w->cli->args;
	const char *rest = strchr(w->command->operation, '/'), *from = rest;
	struct span parameter;

	while (split_parameter(&rest, &parameter)) {
		const struct command_option *option = find_path_option(w->command, parameter);

		buf_add(&w->path, from, (size_t)(parameter.data - 1 - from));
		http_escape(&w->path, option ? arguments_text(args, option->name, option->otherwise)
		                             : args->words[w->words++]);
		from = ++rest;
	}
	buf_add_text(&w->path, from);
}

static void add_query(struct call_writer *w, const char *name, const char *value)
{
	bool is_first = !memchr(w->path.data, '?', w->path.size);

	buf_addf(&w->path, "%c%s=", is_first ? '?' : '&', name);
	http_escape(&w->path, value);
}

static bool text_ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/* The option's value name says in which form people write the number. */
static int read_whole(struct call_writer *w, const struct operation_member *m,
                      const struct command_option *option, int64_t *ret)
{
	const struct cli_arguments *args = &w->cli->args;
	struct error *err = w->cli->err;

	if (!arguments_has(args, option->name))
		return span_parse_whole(span_of(option->otherwise), INT64_MIN, INT64_MAX, ret, err);
	if (strcmp(option->value, "SIZE") == 0)
		return arguments_size_mb(args, option->name, ret, err);
	if (strcmp(option->value, "DURATION") != 0 && strcmp(option->value, "TIME") != 0)
		return arguments_whole(args, option->name, m->min, ret, err);
	if (arguments_duration(args, option->name, ret, err) < 0)
		return -1;
	if (text_ends_with(m->name, "seconds"))
		*ret = (*ret + 999) / 1000;
	return 0;
}

static int add_option(struct call_writer *w, const struct operation_member *m,
                      const struct command_option *option)
{
	const struct cli_arguments *args = &w->cli->args;
	const char *text = arguments_text(args, option->name, option->otherwise);
	int64_t whole = 0;
	double number = 0;

	switch (m->kind) {
	case MEMBER_TEXT:
		body_add_text(&w->body, m->name, text);
		return 0;
	case MEMBER_TEXTS:
		body_add_texts(&w->body, m->name, arguments_list(w->cli, option->name));
		return 0;
	case MEMBER_BOOL:
		json_add_bool(&w->body, m->name, arguments_has(args, option->name));
		return 0;
	case MEMBER_JSON:
		return body_add_json(&w->body, m->name, text, w->cli->err);
	case MEMBER_NUMBER:
		if (arguments_number(args, option->name, &number, w->cli->err) < 0)
			return -1;
		json_add_number(&w->body, m->name, number);
		return 0;
	case MEMBER_WHOLE:
		break;
	}
	if (read_whole(w, m, option, &whole) < 0)
		return -1;
	json_add_whole(&w->body, m->name, whole);
	return 0;
}

static int add_query_option(struct call_writer *w, const struct operation_member *m,
                            const struct command_option *option)
{
	const char *text = arguments_text(&w->cli->args, option->name, option->otherwise);
	int64_t whole;

	if (m->kind == MEMBER_WHOLE) {
		if (read_whole(w, m, option, &whole) < 0)
			return -1;
		text = arena_format(w->cli->arena, "%" PRId64, whole);
	}
	add_query(w, m->name, m->kind == MEMBER_BOOL ? "true" : text);
	return 0;
}

/* "enabled=true" */
static int add_fixed(struct call_writer *w, const char *fixed)
{
	char name[NAME_SIZE_MAX];
	const char *value = split_member(fixed, name);

	return body_add_json(&w->body, name, value, w->cli->err);
}

static int add_given_option(struct call_writer *w, const struct command_option *option)
{
	bool is_given = arguments_has(&w->cli->args, option->name);
	const char *value;
	const struct operation_member *m = plain_member(w->command, option, &value);

	if (!m)
		return 0;
	if (!is_given && !option->otherwise) {
		if (!m->is_required)
			return 0;
		(void)FAIL(w->cli->err, ERROR_INVALID, "--%s %s is needed", option->name,
		           option->value);
		return FAIL_HINT(w->cli->err, "%s: %s", option->value, option->about);
	}
	if (value && m->in_query)
		add_query(w, m->name, value);
	if (value)
		return m->in_query ? 0 : add_fixed(w, option->member);
	return m->in_query ? add_query_option(w, m, option) : add_option(w, m, option);
}

static void add_word(struct call_writer *w)
{
	const char *word = w->command->word;
	const char *text = w->cli->args.words[w->words];
	const struct operation_member *m = word ? operation_member_find(w->operation, word) : NULL;

	assert(!word || m);
	if (m && text && m->in_query)
		add_query(w, word, text);
	else if (m && text)
		body_add_text(&w->body, word, text);
}

static bool has_body(const struct api_operation *operation)
{
	for (const struct operation_member *m = operation->members; m && m->name; m++) {
		if (!m->in_query)
			return true;
	}
	return false;
}

/* A change without members is a mistake of the user. */
static int check_body(struct call_writer *w)
{
	bool is_change = w->operation->name[0] == 'P' && w->operation->name[1] != 'O';

	if (w->body.overflowed)
		return FAIL(w->cli->err, ERROR_TOO_LARGE, "the command is longer than %d bytes",
		            BODY_MAX);
	if (is_change && strcmp(buf_text(&w->body), "{}") == 0)
		return FAIL(w->cli->err, ERROR_INVALID, "nothing to change is given");
	return 0;
}

static int write_call(struct call_writer *w)
{
	const struct command_option *option = command_options(w->command);

	add_path(w);
	body_begin(&w->body);
	add_word(w);
	if (w->command->fixed && add_fixed(w, w->command->fixed) < 0)
		return -1;
	if (w->command->fill && w->command->fill(w->cli, &w->body) < 0)
		return -1;
	for (; option && option->name; option++) {
		if (add_given_option(w, option) < 0)
			return -1;
	}
	(void)body_end(&w->body);
	return has_body(w->operation) ? check_body(w) : 0;
}

static int make_call(struct cli *cli, struct server_call *ret)
{
	const char *name = cli->command->operation;
	struct call_writer w = {
	        .cli = cli,
	        .command = cli->command,
	        .operation = operation_find(name),
	        .path = BUF(PATH_SIZE_MAX),
	        .body = BUF(BODY_MAX),
	};
	int result;

	assert(w.operation);
	result = write_call(&w);
	*ret = (struct server_call){
	        .method = arena_copy(cli->arena, (struct span){name, strcspn(name, " ")}),
	        .path = arena_copy(cli->arena, buf_span(&w.path)),
	        .body = has_body(w.operation) ? arena_copy(cli->arena, buf_span(&w.body)) : NULL,
	};
	buf_done(&w.path);
	buf_done(&w.body);
	return result;
}

int plain_path(struct cli *cli, const char **ret)
{
	struct server_call call;

	if (make_call(cli, &call) < 0)
		return -1;
	*ret = call.path;
	return 0;
}

int plain_call(struct cli *cli, const struct json_value **ret)
{
	struct server_call call;

	if (make_call(cli, &call) < 0 || cli_connect(cli) < 0)
		return -1;
	return server_call(cli, &call, ret);
}

void plain_print(struct cli *cli, const struct json_value *answer)
{
	const struct cli_command *command = cli->command;

	if (!answer)
		return;
	if (cli->json || (command->prints && strcmp(command->prints, "*") == 0))
		print_json(answer);
	else if (command->print)
		command->print(cli, answer);
	else if (command->prints)
		(void)printf("%s\n",
		             text_out_safe(cli->arena, json_get_text(answer, command->prints, "")));
}

static int remove_each(struct cli *cli)
{
	const char *path = strchr(cli->command->operation, '/');
	struct span prefix = {path, strcspn(path, "{")};

	return server_delete_each(cli, arena_copy(cli->arena, prefix), cli->command->removes);
}

int plain_run(struct cli *cli)
{
	const struct cli_command *command = cli->command;
	const struct json_value *answer;
	struct server_call call;

	if (command->removes)
		return remove_each(cli);
	if (make_call(cli, &call) < 0)
		return -1;
	if (command->columns)
		return listing_run(cli, call.path, command->columns);
	if (cli_connect(cli) < 0 || server_call(cli, &call, command->done ? NULL : &answer) < 0)
		return -1;
	if (!command->done)
		plain_print(cli, answer);
	else if (cli->json)
		(void)printf("{\"%s\":true}\n", command->done);
	return 0;
}
