/* SPDX-License-Identifier: Apache-2.0 */
#include "config/file.h"

#include <string.h>
#include <yaml.h>

#include "config/check.h"

/* More than the number of options; a file with more lines repeats a name. */
#define LINES_MAX 256
#define VALUE_MAX (16 * 1024) /* of a list */

struct config_reader {
	yaml_parser_t yaml;
	yaml_event_t event; /* the latest */
	struct arena *arena;
	const char *path;
	struct file_lines lines;
};

static void reader_done(struct config_reader *r)
{
	yaml_event_delete(&r->event);
	yaml_parser_delete(&r->yaml);
}

static size_t line_of(const struct config_reader *r)
{
	return r->event.start_mark.line + 1;
}

static int fail_here(const struct config_reader *r, const char *text, struct error *err)
{
	return FAIL(err, ERROR_INVALID, "%s:%zu: %s", r->path, line_of(r), text);
}

static int next_event(struct config_reader *r, struct error *err)
{
	yaml_event_delete(&r->event);
	if (yaml_parser_parse(&r->yaml, &r->event))
		return 0;
	return FAIL(err, ERROR_INVALID, "%s:%zu: %s", r->path, r->yaml.problem_mark.line + 1,
	            r->yaml.problem ? r->yaml.problem : "not valid YAML");
}

static int take_scalar(struct config_reader *r, const char **ret, struct error *err)
{
	const char *text;
	size_t size;

	if (r->event.type != YAML_SCALAR_EVENT)
		return fail_here(r, "expected 'name: value'", err);
	text = (const char *)r->event.data.scalar.value;
	size = r->event.data.scalar.length;
	if (memchr(text, '\0', size))
		return fail_here(r, "NUL is not allowed", err);
	*ret = arena_copy(r->arena, (struct span){text, size});
	return 0;
}

static int check_new(const struct config_reader *r, const char *name, struct error *err)
{
	for (size_t i = 0; i < r->lines.count; i++) {
		if (strcmp(r->lines.lines[i].name, name) == 0)
			return FAIL(err, ERROR_INVALID,
			            "%s:%zu: '%s' was given in line %zu already", r->path,
			            line_of(r), name, r->lines.lines[i].number);
	}
	if (r->lines.count == LINES_MAX)
		return FAIL(err, ERROR_INVALID, "%s: more than %d options", r->path, LINES_MAX);
	return 0;
}

/* The options whose value may be a list of mappings, which the option takes as one text. */
static const struct list_option {
	const char *name;
	bool has_kind;
	int (*check)(const char *value, struct error *err);
} list_options[] = {
        {"providers", true, check_providers},
        {"routing", false, check_routing},
};

static const struct list_option *find_list_option(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(list_options); i++)
		if (strcmp(list_options[i].name, name) == 0)
			return &list_options[i];
	return NULL;
}

/* A scalar, or a list of scalars as a text with spaces. */
static int take_words(struct config_reader *r, const char **ret, struct error *err)
{
	const char *words = "", *word;

	if (r->event.type != YAML_SEQUENCE_START_EVENT)
		return take_scalar(r, ret, err);
	for (;;) {
		if (next_event(r, err) < 0)
			return -1;
		if (r->event.type == YAML_SEQUENCE_END_EVENT)
			break;
		if (take_scalar(r, &word, err) < 0)
			return -1;
		words = arena_format(r->arena, "%s%s%s", words, *words ? " " : "", word);
	}
	*ret = words;
	return 0;
}

struct folded_item {
	const char *name, *kind;
	struct buf values;
};

static void folded_item_done(struct folded_item *item)
{
	buf_done(&item->values);
}

/* One line of a mapping. */
static int fold_line(struct config_reader *r, const struct list_option *option,
                     struct folded_item *item, struct error *err)
{
	const char *key, *value;
	bool is_word;

	if (take_scalar(r, &key, err) < 0 || next_event(r, err) < 0 ||
	    take_words(r, &value, err) < 0)
		return -1;
	is_word = strcmp(key, "name") == 0 || (option->has_kind && strcmp(key, "kind") == 0);
	if (strpbrk(value, ",;") || (is_word && strpbrk(value, ":=")))
		return fail_here(r, "a value has no , or ;, a name and a kind no : or =, either",
		                 err);
	if (strcmp(key, "name") == 0)
		item->name = value;
	else if (is_word)
		item->kind = value;
	else
		buf_addf(&item->values, "%s%s=%s", item->values.size > 0 ? ";" : "", key, value);
	return 0;
}

/* {name: N, kind: K, key: V} as the text "N=K:key=V"; without kinds "N:key=V". */
static int fold_item(struct config_reader *r, const struct list_option *option, struct buf *out,
                     struct error *err)
{
	AUTO(folded_item_done) struct folded_item item = {.name = "", .values = BUF(VALUE_MAX)};
	size_t line = line_of(r);
	const char *text;

	if (r->event.type != YAML_MAPPING_START_EVENT)
		return fail_here(r, "expected items with 'name: value'", err);
	for (;;) {
		if (next_event(r, err) < 0)
			return -1;
		if (r->event.type == YAML_MAPPING_END_EVENT)
			break;
		if (fold_line(r, option, &item, err) < 0)
			return -1;
	}
	text = arena_format(r->arena, "%s%s%s%s%s", item.name, option->has_kind ? "=" : "",
	                    !option->has_kind ? ""
	                    : item.kind       ? item.kind
	                                      : item.name,
	                    item.values.size > 0 ? ":" : "", buf_text(&item.values));
	if (option->check(text, err) < 0)
		return FAIL_CONTEXT(err, "%s:%zu: %s", r->path, line, option->name);
	buf_addf(out, "%s%s", out->size > 0 ? "," : "", text);
	return 0;
}

/* A list of such items as one text, as the option takes it on the command line. */
static int take_list(struct config_reader *r, const struct list_option *option, const char **ret,
                     struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(VALUE_MAX);

	for (;;) {
		if (next_event(r, err) < 0)
			return -1;
		if (r->event.type == YAML_SEQUENCE_END_EVENT)
			break;
		if (fold_item(r, option, &text, err) < 0)
			return -1;
	}
	if (text.overflowed)
		return fail_here(r, "the list is too long", err);
	*ret = arena_text(r->arena, buf_text(&text));
	return 0;
}

static int take_value(struct config_reader *r, const char *name, const char **ret,
                      struct error *err)
{
	const struct list_option *option = find_list_option(name);

	if (r->event.type == YAML_SEQUENCE_START_EVENT && option)
		return take_list(r, option, ret, err);
	return take_scalar(r, ret, err);
}

static int read_line(struct config_reader *r, struct error *err)
{
	struct file_line line = {.number = line_of(r)};

	if (take_scalar(r, &line.name, err) < 0 || check_new(r, line.name, err) < 0 ||
	    next_event(r, err) < 0 || take_value(r, line.name, &line.value, err) < 0)
		return -1;
	r->lines.lines[r->lines.count++] = line;
	return 0;
}

static int read_mapping(struct config_reader *r, struct error *err)
{
	for (;;) {
		if (next_event(r, err) < 0)
			return -1;
		if (r->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		if (read_line(r, err) < 0)
			return -1;
	}
}

/* A file of comments alone has no document; the only accepted document is one mapping. */
static int read_stream(struct config_reader *r, struct error *err)
{
	do {
		if (next_event(r, err) < 0)
			return -1;
		if (r->event.type == YAML_STREAM_END_EVENT)
			return 0;
		if (r->event.type == YAML_MAPPING_START_EVENT && read_mapping(r, err) < 0)
			return -1;
		if (r->event.type == YAML_DOCUMENT_START_EVENT && r->lines.count > 0)
			return fail_here(r, "expected one document only", err);
	} while (r->event.type == YAML_STREAM_START_EVENT ||
	         r->event.type == YAML_DOCUMENT_START_EVENT ||
	         r->event.type == YAML_MAPPING_END_EVENT ||
	         r->event.type == YAML_DOCUMENT_END_EVENT);
	return fail_here(r, "expected lines of 'name: value'", err);
}

int file_parse(struct arena *a, const char *path, struct span text, struct file_lines *ret,
               struct error *err)
{
	AUTO(reader_done) struct config_reader r = {.arena = a, .path = path};

	if (!yaml_parser_initialize(&r.yaml))
		return FAIL(err, ERROR_SYSTEM, "no memory for a YAML parser");
	yaml_parser_set_input_string(&r.yaml, (const unsigned char *)text.data, text.size);
	r.lines.lines = ARENA_ARRAY(a, struct file_line, LINES_MAX);
	if (read_stream(&r, err) < 0)
		return -1;
	*ret = r.lines;
	return 0;
}
