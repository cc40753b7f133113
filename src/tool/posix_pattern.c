/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern of rg's as a POSIX extended expression. */
#include <string.h>

#include "base/bytes.h"
#include "tool/search.h"

struct posix_translation {
	const char *at;
	struct buf out;
	bool after_repeat; /* a '?' would make it lazy: which lines match is the same */
};

static int refuse_construct(const char *what, struct error *err)
{
	(void)FAIL(err, ERROR_UNSUPPORTED, "pattern: %s is not known where there is no rg", what);
	return FAIL_HINT(err, "install ripgrep in the template, or put it otherwise");
}

/* Classes; their second form stands within brackets. */
static const struct class
{
	char letter;
	const char *outside, *inside;
} classes[] = {
        {'d', "[0-9]", "0-9"},
        {'D', "[^0-9]", NULL},
        {'w', "[[:alnum:]_]", "[:alnum:]_"},
        {'W', "[^[:alnum:]_]", NULL},
        {'s', "[[:space:]]", "[:space:]"},
        {'S', "[^[:space:]]", NULL},
        {'t', "\t", "\t"},
        /* Places, which glibc and GNU know. */
        {'b', "\\b", NULL},
        {'B', "\\B", NULL},
        {'<', "\\<", NULL},
        {'>', "\\>", NULL},
};

static int take_escape(struct posix_translation *t, bool is_inside, struct error *err)
{
	char c = t->at[1];
	const char *text;

	if (!c)
		return FAIL(err, ERROR_INVALID, "pattern: a backslash at its end");
	t->at += 2;
	for (size_t i = 0; i < COUNT_OF(classes); i++) {
		if (classes[i].letter != c)
			continue;
		text = is_inside ? classes[i].inside : classes[i].outside;
		if (!text)
			return refuse_construct("such a class within brackets", err);
		buf_add_text(&t->out, text);
		return 0;
	}
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
		return refuse_construct("an escape of a letter or digit", err);
	/* Within brackets a backslash would be one of them; and these have a meaning by place. */
	if (is_inside && strchr("]^-[", c))
		return refuse_construct("an escaped bracket, '^' or '-' within brackets", err);
	if (!is_inside)
		buf_add_byte(&t->out, '\\');
	buf_add_byte(&t->out, c);
	return 0;
}

static int take_brackets(struct posix_translation *t, struct error *err)
{
	const char *name_end;

	buf_add_byte(&t->out, *t->at++);
	if (*t->at == '^')
		buf_add_byte(&t->out, *t->at++);
	if (*t->at == ']')
		buf_add_byte(&t->out, *t->at++);
	while (*t->at && *t->at != ']') {
		name_end = t->at[0] == '[' && t->at[1] == ':' ? strstr(t->at + 2, ":]") : NULL;
		if (name_end) {
			buf_add(&t->out, t->at, (size_t)(name_end + 2 - t->at));
			t->at = name_end + 2;
		} else if (*t->at == '\\') {
			if (take_escape(t, true, err) < 0)
				return -1;
		} else if (strncmp(t->at, "&&", 2) == 0 || t->at[0] == '[') {
			return refuse_construct("a class within brackets", err);
		} else {
			buf_add_byte(&t->out, *t->at++);
		}
	}
	if (!*t->at)
		return FAIL(err, ERROR_INVALID, "pattern: a bracket that is not closed");
	buf_add_byte(&t->out, *t->at++);
	return 0;
}

static int take_construct(struct posix_translation *t, struct error *err)
{
	char c = *t->at;
	bool was_repeat = t->after_repeat;

	t->after_repeat = c == '*' || c == '+' || c == '?' || c == '}';
	if (c == '\\')
		return take_escape(t, false, err);
	if (c == '[')
		return take_brackets(t, err);
	if (strncmp(t->at, "(?:", 3) == 0) {
		buf_add_byte(&t->out, '(');
		t->at += 3;
		return 0;
	}
	if (strncmp(t->at, "(?", 2) == 0)
		return refuse_construct("a group that begins with '(?'", err);
	if (was_repeat && c == '?')
		t->after_repeat = false;
	else
		buf_add_byte(&t->out, c);
	t->at++;
	return 0;
}

int search_pattern_to_posix(struct arena *a, const char *pattern, const char **ret,
                            struct error *err)
{
	struct posix_translation t = {.at = pattern, .out = BUF(16 * SEARCH_PATTERN_MAX)};
	int result = 0;

	if (strchr(pattern, '\n'))
		result = refuse_construct("a line feed", err);
	while (result == 0 && *t.at)
		result = take_construct(&t, err);
	if (result == 0 && t.out.overflowed)
		result = FAIL(err, ERROR_TOO_LARGE, "the pattern is too long");
	if (result == 0)
		*ret = arena_copy(a, buf_span(&t.out));
	buf_done(&t.out);
	return result;
}
