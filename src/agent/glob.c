/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/glob.h"

#include <string.h>

/* Matches a character with a class after its '['. Returns the position after ']', or NULL if the
 * class has no end. */
static const char *match_class(const char *pattern, char byte, bool *ret_matches)
{
	bool negated = *pattern == '!' || *pattern == '^', found = false;
	const char *at = pattern + negated;

	do {
		unsigned char from, to, value = (unsigned char)byte;

		if (*at == '\\' && at[1])
			at++;
		if (*at == '\0' || *at == '/')
			return NULL;
		from = to = (unsigned char)*at++;
		if (*at == '-' && at[1] && at[1] != ']') {
			to = (unsigned char)at[1];
			at += 2;
		}
		found |= from <= value && value <= to;
	} while (*at != ']');
	*ret_matches = found != negated;
	return at + 1;
}

/* Matches one character of a name; returns the rest of the pattern or NULL. */
static const char *match_character(const char *pattern, char byte)
{
	bool matches;

	if (*pattern == '?')
		return pattern + 1;
	if (*pattern == '[') {
		const char *after = match_class(pattern + 1, byte, &matches);

		if (after)
			return matches ? after : NULL;
	}
	if (*pattern == '\\' && pattern[1] && pattern[1] != '/')
		pattern++;
	return *pattern == byte ? pattern + 1 : NULL;
}

static bool is_name_end(char byte)
{
	return byte == '\0' || byte == '/';
}

/* Both point at the start of a name. Only the last `*` must be tried again. */
static bool name_matches(const char *pattern, const char *name)
{
	const char *star = NULL, *retry = NULL;

	if (*name == '.' && *pattern != '.' && *pattern != '\\')
		return false;
	while (!is_name_end(*name)) {
		const char *after = NULL;

		if (*pattern == '*') {
			star = ++pattern;
			retry = name;
			continue;
		}
		if (!is_name_end(*pattern))
			after = match_character(pattern, *name);
		if (!after && !star)
			return false;
		pattern = after ? after : star;
		name = after ? name + 1 : ++retry;
	}
	while (*pattern == '*')
		pattern++;
	return is_name_end(*pattern);
}

static const char *next_name(const char *text)
{
	text += strcspn(text, "/");
	return *text ? text + 1 : text;
}

static bool is_any_depth(const char *pattern)
{
	return pattern[0] == '*' && pattern[1] == '*' && is_name_end(pattern[2]);
}

/* The same for whole paths: only the last `**` must be tried again. */
bool glob_matches(const char *pattern, const char *path)
{
	const char *any = NULL, *retry = NULL;

	while (*path) {
		if (is_any_depth(pattern)) {
			any = next_name(pattern);
			if (*any == '\0')
				return *path != '.' && !strstr(path, "/.");
			pattern = any;
			retry = path;
		} else if (*pattern && name_matches(pattern, path)) {
			pattern = next_name(pattern);
			path = next_name(path);
		} else if (any && *retry != '.') {
			pattern = any;
			path = retry = next_name(retry);
		} else {
			return false;
		}
	}
	return *pattern == '\0';
}

unsigned glob_depth(const char *pattern)
{
	unsigned depth = 0;

	for (; *pattern; pattern = next_name(pattern)) {
		if (is_any_depth(pattern))
			return 0;
		depth++;
	}
	return depth;
}

/* "{", its "}", and where the first of its parts ends. */
struct group {
	const char *open, *comma, *close;
};

/* The position after this character, escaped character or class. */
static const char *skip_character(const char *at)
{
	bool ignored;

	if (*at == '\\' && at[1])
		return at + 2;
	if (*at == '[') {
		const char *after = match_class(at + 1, 'x', &ignored);

		return after ? after : at + 1;
	}
	return at + 1;
}

/* The next comma or brace of this level after `at`, or NULL. */
static const char *part_end(const char *at)
{
	for (unsigned depth = 0; *at; at = skip_character(at)) {
		if (depth == 0 && (*at == ',' || *at == '}'))
			return at;
		depth += *at == '{';
		depth -= *at == '}';
	}
	return NULL;
}

static bool find_group(const char *pattern, struct group *ret)
{
	for (const char *at = pattern; *at; at = skip_character(at)) {
		const char *end = *at == '{' ? part_end(at + 1) : NULL;

		if (!end || *end != ',')
			continue;
		*ret = (struct group){.open = at, .comma = end};
		while (end && *end == ',')
			end = part_end(end + 1);
		ret->close = end;
		if (end)
			return true;
	}
	return false;
}

static const char *with_part(struct arena *a, const char *pattern, const struct group *g,
                             struct span part)
{
	return arena_format(a, "%.*s%.*s%s", (int)(g->open - pattern), pattern, (int)part.size,
	                    part.data, g->close + 1);
}

/* The first part replaces the pattern; the others are appended. Each is shorter than the pattern,
 * so the expansion ends. */
static bool take_apart(struct arena *a, struct globs *g, size_t i, const struct group *group)
{
	const char *pattern = g->patterns[i], *begin = group->open + 1, *end = group->comma;

	g->patterns[i] = with_part(a, pattern, group, (struct span){begin, (size_t)(end - begin)});
	while (end != group->close) {
		begin = end + 1;
		end = part_end(begin);
		if (g->count == GLOBS_MAX)
			return false;
		g->patterns[g->count++] =
		        with_part(a, pattern, group, (struct span){begin, (size_t)(end - begin)});
	}
	return true;
}

int globs_parse(struct arena *a, const char *pattern, struct globs *ret, struct error *err)
{
	struct group group;

	ret->patterns[0] = arena_text(a, pattern);
	ret->count = 1;
	for (size_t i = 0; i < ret->count;) {
		if (!find_group(ret->patterns[i], &group))
			i++;
		else if (!take_apart(a, ret, i, &group))
			return FAIL(err, ERROR_INVALID, "pattern '%.100s' stands for more than %d",
			            pattern, GLOBS_MAX);
	}
	return 0;
}

bool globs_match(const struct globs *g, const char *path)
{
	for (size_t i = 0; i < g->count; i++)
		if (glob_matches(g->patterns[i], path))
			return true;
	return false;
}

unsigned globs_depth(const struct globs *g)
{
	unsigned deepest = 0;

	for (size_t i = 0; i < g->count; i++) {
		unsigned depth = glob_depth(g->patterns[i]);

		if (depth == 0)
			return 0;
		if (depth > deepest)
			deepest = depth;
	}
	return deepest;
}
