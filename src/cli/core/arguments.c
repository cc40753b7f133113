/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/nearest.h"
#include "cli/core/command.h"
#include "cli/core/plain.h"

/* Accepts "--idle_exit" for "--idle-exit". */
static bool is_named(const char *option, struct span name)
{
	for (size_t i = 0; i < name.size; i++) {
		if (option[i] != (name.data[i] == '_' ? '-' : name.data[i]))
			return false;
	}
	return option[name.size] == '\0';
}

static const struct command_option *find_table_option(const struct command_option *table,
                                                      struct span name, char letter)
{
	for (; table && table->name; table++) {
		if (letter ? table->letter == letter : is_named(table->name, name))
			return table;
	}
	return NULL;
}

static const struct command_option *find_option(const struct cli_command *command, struct span name,
                                                char letter)
{
	const struct command_option *option =
	        find_table_option(command_options(command), name, letter);

	return option ? option : find_table_option(common_options, name, letter);
}

struct arguments_parser {
	const struct cli_command *command;
	const char *const *next; /* of argv */
	struct cli_arguments *out;
	struct error *err;
};

static int add_value(struct arguments_parser *p, const struct command_option *option,
                     const char *text)
{
	p->out->values[p->out->value_count++] = (struct option_value){option, text};
	return 0;
}

static int add_with_next(struct arguments_parser *p, const struct command_option *option)
{
	if (!*p->next)
		return FAIL(p->err, ERROR_INVALID, "option '--%s' needs a value: %s", option->name,
		            option->value);
	return add_value(p, option, *p->next++);
}

static void offer_options(const struct command_option *table, struct nearest *nearest)
{
	for (; table && table->name; table++)
		nearest_offer(nearest, table->name);
}

/* "-name" probably means "--name", too. */
static int refuse_unknown(struct arguments_parser *p, const char *word)
{
	const char *name = word + strspn(word, "-");
	struct nearest nearest = {.name = {name, strcspn(name, "=")}};

	offer_options(command_options(p->command), &nearest);
	offer_options(common_options, &nearest);
	(void)FAIL(p->err, ERROR_INVALID, "'%s' has no option '%s'", p->command->name, word);
	return nearest.found ? FAIL_HINT(p->err, "did you mean '--%s'?", nearest.found) : -1;
}

static int parse_long(struct arguments_parser *p, const char *word)
{
	struct span value = span_of(word + 2), name;
	bool has_value = span_split(&value, '=', &name);
	const struct command_option *option = find_option(p->command, name, 0);

	if (!option)
		return refuse_unknown(p, word);
	if (!option->value && has_value)
		return FAIL(p->err, ERROR_INVALID, "option '--%s' takes no value", option->name);
	if (!option->value)
		return add_value(p, option, "");
	return has_value ? add_value(p, option, value.data) : add_with_next(p, option);
}

/* Accepts "-it", "-e K=V" and "-eK=V". */
static int parse_letters(struct arguments_parser *p, const char *word)
{
	for (const char *at = word + 1; *at; at++) {
		const struct command_option *option =
		        find_option(p->command, (struct span){0}, *at);

		if (!option)
			return refuse_unknown(p, word);
		if (option->value && at[1])
			return add_value(p, option, at + 1);
		if (option->value)
			return add_with_next(p, option);
		(void)add_value(p, option, "");
	}
	return 0;
}

static int check_count(const struct cli_command *command, const struct cli_arguments *args,
                       struct error *err)
{
	unsigned needed = command->arguments_max > 0 ? 0 : plain_words(command);
	bool too_few = args->count < command->arguments_min + needed;

	if (!too_few && args->count <= command->arguments_max + needed)
		return 0;
	if (arguments_has(args, "help"))
		return 0;
	return FAIL(err, ERROR_INVALID, "'%s' got too %s arguments", command->name,
	            too_few ? "few" : "many");
}

int arguments_parse(struct arena *a, const struct cli_command *command, const char *const *argv,
                    struct cli_arguments *ret, struct error *err)
{
	struct cli_arguments args = {0};
	struct arguments_parser p = {.command = command, .next = argv, .out = &args, .err = err};
	size_t letters = 0;

	for (const char *const *word = argv; *word; word++)
		letters += strlen(*word) + 1; /* "-abc" may be as many options as it has letters */
	args.values = ARENA_ARRAY(a, struct option_value, letters + 1);
	args.words = ARENA_ARRAY(a, const char *, letters + 1);
	while (*p.next) {
		const char *word = *p.next++;
		bool ended = command->has_inner_command && args.count >= command->own_arguments;

		if (strcmp(word, "--") == 0) {
			break;
		} else if (strncmp(word, "--", 2) == 0) {
			if (parse_long(&p, word) < 0)
				return -1;
		} else if (word[0] == '-' && word[1]) {
			if (parse_letters(&p, word) < 0)
				return -1;
		} else if (ended) {
			p.next--;
			break;
		} else {
			args.words[args.count++] = word;
		}
	}
	if (command->has_inner_command) {
		args.inner = arena_alloc(a, sizeof(char *) * (letters + 1));
		for (unsigned i = 0; *p.next; i++)
			args.inner[i] = *p.next++;
	}
	while (*p.next)
		args.words[args.count++] = *p.next++;
	if (args.inner && !args.inner[0])
		args.inner = NULL;
	if (check_count(command, &args, err) < 0)
		return -1;
	*ret = args;
	return 0;
}

static const struct option_value *find_value(const struct cli_arguments *args, const char *name)
{
	for (unsigned i = args->value_count; i-- > 0;) {
		if (strcmp(args->values[i].option->name, name) == 0)
			return &args->values[i];
	}
	return NULL;
}

bool arguments_has(const struct cli_arguments *args, const char *name)
{
	return find_value(args, name) != NULL;
}

const char *arguments_text(const struct cli_arguments *args, const char *name, const char *fallback)
{
	const struct option_value *value = find_value(args, name);

	return value ? value->text : fallback;
}

const char *arguments_text_at(const struct cli_arguments *args, const char *name, unsigned index)
{
	for (unsigned i = 0; i < args->value_count; i++) {
		if (strcmp(args->values[i].option->name, name) == 0 && index-- == 0)
			return args->values[i].text;
	}
	return NULL;
}

int arguments_whole(const struct cli_arguments *args, const char *name, int64_t min, int64_t *ret,
                    struct error *err)
{
	const struct option_value *value = find_value(args, name);

	if (value && span_parse_whole(span_of(value->text), min, INT64_MAX, ret, err) < 0)
		return FAIL_CONTEXT(err, "option '--%s'", name);
	return 0;
}

int arguments_number(const struct cli_arguments *args, const char *name, double *ret,
                     struct error *err)
{
	const struct option_value *value = find_value(args, name);
	double number;
	char *end;

	if (!value)
		return 0;
	number = strtod(value->text, &end);
	if (end == value->text || *end || !isfinite(number) || number < 0)
		return FAIL(err, ERROR_INVALID, "option '--%s': '%s' is not a number", name,
		            value->text);
	*ret = number;
	return 0;
}

int arguments_duration(const struct cli_arguments *args, const char *name, int64_t *ret_ms,
                       struct error *err)
{
	const struct option_value *value = find_value(args, name);

	if (value && duration_parse(span_of(value->text), ret_ms, err) < 0)
		return FAIL_CONTEXT(err, "option '--%s'", name);
	return 0;
}

int arguments_size_mb(const struct cli_arguments *args, const char *name, int64_t *ret,
                      struct error *err)
{
	const struct option_value *value = find_value(args, name);
	int64_t factor = 1, count;
	struct span digits;

	if (!value)
		return 0;
	digits = span_of(value->text);
	if (digits.size > 0 && strchr("mM", digits.data[digits.size - 1])) {
		digits.size--;
	} else if (digits.size > 0 && strchr("gG", digits.data[digits.size - 1])) {
		digits.size--;
		factor = 1024;
	}
	if (span_parse_whole(digits, 1, INT64_MAX / 1024 / 1024 / 1024, &count, err) < 0) {
		(void)FAIL_CONTEXT(err, "option '--%s'", name);
		return FAIL_HINT(err, "write MiB as 512 or 512m, GiB as 2g");
	}
	*ret = count * factor;
	return 0;
}
