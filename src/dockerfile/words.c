/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "dockerfile/dockerfile.h"

/* Of all words of a line: a short line of variables with long values may not become gigabytes. */
#define LINE_MAX_SIZE ((size_t)64 * 1024)
#define WORDS_MAX 4096
#define EXPANDED_MAX ((size_t)1 << 20)

void docker_variable_set(struct arena *a, struct docker_variables *vars,
                         const struct docker_variable *variable)
{
	for (size_t i = 0; i < vars->count; i++) {
		if (strcmp(vars->items[i].name, variable->name) != 0)
			continue;
		/* ENV has precedence over ARG, whichever comes later. */
		if (vars->items[i].is_arg || !variable->is_arg)
			vars->items[i] = *variable;
		return;
	}
	vars->items =
	        arena_grow(a, vars->items, vars->count, &vars->capacity, sizeof(*vars->items));
	vars->items[vars->count++] = *variable;
}

const char *docker_variable_get(const struct docker_variables *vars, struct span name)
{
	for (size_t i = 0; vars && i < vars->count; i++)
		if (span_equals_text(name, vars->items[i].name))
			return vars->items[i].value;
	return NULL;
}

struct splitter {
	struct arena *arena;
	const struct docker_variables *vars;
	const char *at;
	struct buf word;
	bool has_word; /* also set for the empty word "" */
	const char **words;
	size_t count, capacity, size; /* size: of all words */
};

static void splitter_done(struct splitter *s)
{
	buf_done(&s->word);
}

static int end_word(struct splitter *s, struct error *err)
{
	if (!s->has_word)
		return 0;
	s->size += s->word.size;
	if (s->word.overflowed || s->count == WORDS_MAX || s->size > LINE_MAX_SIZE)
		return FAIL(err, ERROR_TOO_LARGE, "its words have more than %zu bytes",
		            LINE_MAX_SIZE);
	s->words = arena_grow(s->arena, s->words, s->count, &s->capacity, sizeof(*s->words));
	s->words[s->count++] = arena_copy(s->arena, buf_span(&s->word));
	buf_reset(&s->word);
	s->has_word = false;
	return 0;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static struct span take_name(struct splitter *s)
{
	const char *begin = s->at;

	while (is_name(*s->at))
		s->at++;
	return (struct span){begin, (size_t)(s->at - begin)};
}

/* The position is after "${". */
static int add_braced(struct splitter *s, struct error *err)
{
	struct span name = take_name(s), otherwise = {0};
	const char *value = docker_variable_get(s->vars, name);
	char kind = '\0';

	if (s->at[0] == ':' && (s->at[1] == '-' || s->at[1] == '+')) {
		kind = s->at[1];
		otherwise.data = s->at + 2;
		otherwise.size = strcspn(otherwise.data, "}");
		s->at = otherwise.data + otherwise.size;
	}
	if (name.size == 0 || *s->at != '}')
		return FAIL(err, ERROR_INVALID,
		            "only ${NAME}, ${NAME:-text} and ${NAME:+text} are supported");
	s->at++;
	if (kind == '+' ? value && *value : kind == '-' && (!value || !*value))
		buf_add_span(&s->word, otherwise);
	else if (kind != '+')
		buf_add_text(&s->word, value ? value : "");
	return 0;
}

/* The position is after "$". */
static int add_variable(struct splitter *s, struct error *err)
{
	const char *value;

	if (*s->at == '{') {
		s->at++;
		return add_braced(s, err);
	}
	if (!is_name(*s->at)) {
		buf_add_byte(&s->word, '$');
		return 0;
	}
	value = docker_variable_get(s->vars, take_name(s));
	buf_add_text(&s->word, value ? value : "");
	return 0;
}

static int add_single(struct splitter *s, struct error *err)
{
	const char *end = strchr(s->at, '\'');

	if (!end)
		return FAIL(err, ERROR_INVALID, "a quote is not closed");
	buf_add(&s->word, s->at, (size_t)(end - s->at));
	s->at = end + 1;
	return 0;
}

static int add_double(struct splitter *s, struct error *err)
{
	while (*s->at && *s->at != '"') {
		char c = *s->at++;

		if (c == '\\' && *s->at && strchr("\"\\$", *s->at))
			buf_add_byte(&s->word, *s->at++);
		else if (c == '$') {
			if (add_variable(s, err) < 0)
				return -1;
		} else
			buf_add_byte(&s->word, c);
	}
	if (!*s->at)
		return FAIL(err, ERROR_INVALID, "a quote is not closed");
	s->at++;
	return 0;
}

static int add_part(struct splitter *s, struct error *err)
{
	char c = *s->at++;

	s->has_word = true;
	if (c == '\'')
		return add_single(s, err);
	if (c == '"')
		return add_double(s, err);
	if (c == '$')
		return add_variable(s, err);
	if (c == '\\' && *s->at)
		c = *s->at++;
	buf_add_byte(&s->word, c);
	return 0;
}

int docker_words(struct arena *a, const char *text, const struct docker_variables *vars, bool whole,
                 const char ***ret, struct error *err)
{
	AUTO(splitter_done) struct splitter s = {
	        .arena = a, .vars = vars, .at = text, .word = BUF(LINE_MAX_SIZE)};

	s.has_word = whole;
	while (*s.at) {
		if (!whole && isspace((unsigned char)*s.at)) {
			if (end_word(&s, err) < 0)
				return -1;
			s.at++;
		} else if (add_part(&s, err) < 0) {
			return -1;
		}
	}
	if (end_word(&s, err) < 0)
		return -1;
	s.words = arena_grow(a, s.words, s.count, &s.capacity, sizeof(*s.words));
	s.words[s.count] = NULL;
	*ret = s.words;
	return 0;
}

int docker_expand(struct arena *a, const char *text, const struct docker_variables *vars,
                  const char **ret, struct error *err)
{
	AUTO(splitter_done) struct splitter s = {
	        .arena = a, .vars = vars, .at = text, .word = BUF(EXPANDED_MAX)};

	while (*s.at) {
		char c = *s.at++;

		if (c == '\\' && *s.at == '$')
			buf_add_byte(&s.word, *s.at++);
		else if (c != '$')
			buf_add_byte(&s.word, c);
		else if (add_variable(&s, err) < 0)
			return -1;
	}
	if (s.word.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "a here-document has at most %zu bytes",
		            EXPANDED_MAX);
	*ret = arena_copy(a, buf_span(&s.word));
	return 0;
}
