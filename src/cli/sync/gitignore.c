/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sync/gitignore.h"

#include <string.h>

#include "base/path.h"

struct gitignore_rule {
	struct span pattern;
	bool excepts, only_folders, is_anchored;
};
struct rules {
	struct gitignore_rule *items;
	size_t count;
};

void gitignore_done(struct gitignore *g)
{
	map_done(&g->folders);
	arena_done(&g->arena);
}

bool gitignore_has(const struct gitignore *g, const char *folder)
{
	return map_find(&g->folders, folder) != NULL;
}

/* Trailing spaces count only after a backslash. */
static struct span trim_pattern(struct span line)
{
	if (line.size > 0 && line.data[line.size - 1] == '\r')
		line.size--;
	while (line.size > 0 && line.data[line.size - 1] == ' ' &&
	       (line.size < 2 || line.data[line.size - 2] != '\\'))
		line.size--;
	return line;
}

static bool parse_rule(struct span line, struct gitignore_rule *ret)
{
	line = trim_pattern(line);
	*ret = (struct gitignore_rule){.excepts = line.size > 0 && line.data[0] == '!'};
	if (line.size == 0 || line.data[0] == '#')
		return false;
	if (ret->excepts)
		span_skip(&line, 1);
	if (line.size > 0 && line.data[line.size - 1] == '/') {
		ret->only_folders = true;
		line.size--;
	}
	ret->is_anchored = line.size > 0 && memchr(line.data, '/', line.size);
	if (line.size > 0 && line.data[0] == '/')
		span_skip(&line, 1);
	ret->pattern = line;
	return line.size > 0;
}

void gitignore_add(struct gitignore *g, const char *folder, struct span text)
{
	struct span rest = span_of(arena_copy(&g->arena, text)), line;
	struct rules *rules = ARENA_NEW(&g->arena, struct rules);
	size_t lines = 1;
	bool more = true;

	if (gitignore_has(g, folder))
		return;
	for (size_t i = 0; i < rest.size; i++)
		lines += rest.data[i] == '\n';
	*rules = (struct rules){.items = ARENA_ARRAY(&g->arena, struct gitignore_rule, lines)};
	while (more) {
		more = span_split(&rest, '\n', &line);
		rules->count += parse_rule(line, &rules->items[rules->count]);
	}
	map_put(&g->folders, folder, rules);
}

/* Matches a byte against a class such as "[a-z!]" at the front of the pattern. *ret_size is the
 * length of the class, 0 if there is none. */
static bool class_fits(struct span p, unsigned char byte, size_t *ret_size)
{
	size_t at = 1;
	bool negated = p.size > 1 && (p.data[1] == '!' || p.data[1] == '^');
	bool fits = false;

	at += negated;
	for (size_t first = at; at < p.size && (p.data[at] != ']' || at == first); at++) {
		unsigned char low, high;

		if (p.data[at] == '\\' && at + 1 < p.size)
			at++;
		low = high = (unsigned char)p.data[at];
		if (at + 2 < p.size && p.data[at + 1] == '-' && p.data[at + 2] != ']') {
			high = (unsigned char)p.data[at + 2];
			at += 2;
		}
		fits |= low <= byte && byte <= high;
	}
	*ret_size = at < p.size ? at + 1 : 0;
	return fits != negated;
}

/* Matches one byte of a name against the front of the pattern. *ret_size is the matched length of
 * the pattern. */
static bool byte_fits(struct span p, char byte, size_t *ret_size)
{
	*ret_size = 1;
	if (p.data[0] == '?')
		return true;
	if (p.data[0] == '[') {
		size_t size;
		bool fits = class_fits(p, (unsigned char)byte, &size);

		if (size > 0)
			*ret_size = size;
		return size > 0 ? fits : false;
	}
	if (p.data[0] == '\\' && p.size > 1) {
		*ret_size = 2;
		return p.data[1] == byte;
	}
	return p.data[0] == byte;
}

/* Matches one part of a pattern against one name. Backtracks only to the last '*': a longer match
 * of an earlier '*' would leave less for the rest. */
static bool name_fits(struct span p, struct span name)
{
	struct span star = {NULL, 0}, back = name;
	size_t size;

	while (name.size > 0) {
		if (p.size > 0 && p.data[0] == '*') {
			p = star = span_after(p, 1);
			back = name;
		} else if (p.size > 0 && byte_fits(p, name.data[0], &size)) {
			p = span_after(p, size);
			name = span_after(name, 1);
		} else if (star.data) {
			back = span_after(back, 1);
			name = back;
			p = star;
		} else {
			return false;
		}
	}
	while (p.size > 0 && p.data[0] == '*')
		p = span_after(p, 1);
	return p.size == 0;
}

static struct span part_of(struct span s, struct span *ret_rest)
{
	const char *slash = memchr(s.data, '/', s.size);
	size_t size = slash ? (size_t)(slash - s.data) : s.size;

	*ret_rest = span_after(s, slash ? size + 1 : size);
	return (struct span){s.data, size};
}

static bool is_stars(struct span part)
{
	return part.size == 2 && part.data[0] == '*' && part.data[1] == '*';
}

/* Matches a pattern part by part. "**" matches any number of parts, at the end at least one. */
static bool path_fits(struct span p, struct span path)
{
	struct span star = {NULL, 0}, back = path, p_rest, rest;

	while (path.size > 0) {
		struct span name = part_of(path, &rest);
		struct span part = part_of(p, &p_rest);

		if (p.size > 0 && is_stars(part)) {
			if (p_rest.size == 0)
				return true;
			p = star = p_rest;
			back = path;
		} else if (p.size > 0 && name_fits(part, name)) {
			p = p_rest;
			path = rest;
		} else if (star.data) {
			(void)part_of(back, &back);
			path = back;
			p = star;
		} else {
			return false;
		}
	}
	return p.size == 0;
}

static bool rule_fits(const struct gitignore_rule *rule, const char *below, bool is_folder)
{
	if (rule->only_folders && !is_folder)
		return false;
	return rule->is_anchored ? path_fits(rule->pattern, span_of(below))
	                         : name_fits(rule->pattern, span_of(path_last(below)));
}

/* The rules of a folder applied to a path below it: 1 ignored, 0 included, -1 no rule matches. */
static int match_rules(const struct rules *rules, const char *below, bool is_folder)
{
	for (size_t i = rules ? rules->count : 0; i > 0; i--)
		if (rule_fits(&rules->items[i - 1], below, is_folder))
			return !rules->items[i - 1].excepts;
	return -1;
}

/* For this path, without its parents: the nearest folder with a matching rule decides. */
static bool is_path_ignored(const struct gitignore *g, const char *path, bool is_folder)
{
	char folder[PATH_SIZE_MAX];
	size_t size = strlen(path);

	memcpy(folder, path, size + 1);
	for (;;) {
		const char *below = path;
		int said;

		while (size > 0 && folder[size - 1] != '/')
			size--;
		below += size;
		folder[size > 0 ? size - 1 : 0] = '\0';
		said = match_rules(map_find(&g->folders, folder), below, is_folder);
		if (said >= 0 || size == 0)
			return said == 1;
		size--;
	}
}

bool gitignore_matches(const struct gitignore *g, const char *path, bool is_folder)
{
	char part[PATH_SIZE_MAX];
	size_t size = strlen(path);

	if (size >= sizeof(part))
		return true;
	for (size_t i = 0; i < size; i++) {
		if (path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (is_path_ignored(g, part, true))
			return true;
	}
	return is_path_ignored(g, path, is_folder);
}
