/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/glob.h"

#include <stddef.h>
#include <string.h>

/* One character of a class after its '['. Returns the place after ']' or NULL when it never ends.
 */
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
static const char *match_one(const char *pattern, char byte)
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

/* Both begin a name. The last `*` is the only one that need be tried again. */
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
			after = match_one(pattern, *name);
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

/* The same idea one level up: the last `**` is the only one to be tried again. */
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
