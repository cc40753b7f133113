/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <assert.h>
#include <string.h>

bool path_name_is_valid(struct span name)
{
	return name.size >= 1 && name.size <= PATH_NAME_MAX && span_find(name, '/') < 0 &&
	       span_find(name, '\0') < 0 && !span_equals_text(name, ".") &&
	       !span_equals_text(name, "..");
}

const char *path_or_root(const char *path)
{
	return path && path[0] ? path : "/";
}

const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return path;
	return slash == path && !slash[1] ? path : slash + 1;
}

static int check_bytes(struct span path, struct error *err)
{
	if (path.size >= PATH_SIZE_MAX)
		return FAIL(err, ERROR_INVALID, "path is longer than %d bytes", PATH_SIZE_MAX - 1);
	if (span_find(path, '\0') >= 0)
		return FAIL(err, ERROR_INVALID, "path contains a NUL byte");
	return 0;
}

/* The path built so far; always absolute. */
struct resolved {
	char text[2 * PATH_SIZE_MAX];
	size_t size;
};

static int remove_last_part(struct resolved *to, struct error *err)
{
	if (to->size == 0)
		return FAIL(err, ERROR_INVALID, "path climbs over '/'");
	while (to->text[--to->size] != '/')
		;
	return 0;
}

static int resolve_onto(struct resolved *to, struct span path, struct error *err)
{
	struct span name;
	bool more;

	do {
		more = span_split(&path, '/', &name);
		if (name.size == 0 || span_equals_text(name, "."))
			continue;
		if (span_equals_text(name, "..")) {
			if (remove_last_part(to, err) < 0)
				return -1;
			continue;
		}
		if (name.size > PATH_NAME_MAX)
			return FAIL(err, ERROR_INVALID,
			            "a name in the path is longer than %d bytes", PATH_NAME_MAX);
		to->text[to->size++] = '/';
		memcpy(to->text + to->size, name.data, name.size);
		to->size += name.size;
	} while (more);
	return 0;
}

int path_resolve(struct arena *a, const char *base, struct span path, const char **ret,
                 struct error *err)
{
	struct resolved to;

	assert(base[0] == '/' && strlen(base) < PATH_SIZE_MAX);
	to.size = 0;
	if (check_bytes(path, err) < 0)
		return -1;
	if (!span_starts_with(path, "/") && resolve_onto(&to, span_of(base), err) < 0)
		return FAIL_CONTEXT(err, "base folder");
	if (resolve_onto(&to, path, err) < 0)
		return -1;
	if (to.size >= PATH_SIZE_MAX)
		return FAIL(err, ERROR_INVALID, "path is longer than %d bytes", PATH_SIZE_MAX - 1);
	*ret = to.size == 0 ? "/" : arena_copy(a, (struct span){to.text, to.size});
	return 0;
}

static int refuse_path(struct error *err, const char *why)
{
	(void)FAIL(err, ERROR_INVALID, "path %s", why);
	return FAIL_HINT(err, "name it relative to the workspace, such as 'src/main.py'");
}

int path_check_relative(struct arena *a, struct span path, const char **ret, struct error *err)
{
	char *out, *end;
	struct span name;
	bool more = true;

	if (check_bytes(path, err) < 0)
		return -1;
	if (span_starts_with(path, "/"))
		return refuse_path(err, "is absolute");
	out = end = arena_alloc(a, path.size + 2);
	while (more && path.size > 0) {
		more = span_split(&path, '/', &name);
		if (span_equals_text(name, "."))
			continue;
		if (span_equals_text(name, ".."))
			return refuse_path(err, "contains '..'");
		if (name.size == 0 || (more && path.size == 0))
			return refuse_path(err, "contains an empty name");
		if (name.size > PATH_NAME_MAX)
			return refuse_path(err, "contains a name longer than 255 bytes");
		if (end > out)
			*end++ = '/';
		end = mempcpy(end, name.data, name.size);
	}
	if (end == out)
		*end = '.';
	*ret = out;
	return 0;
}

int path_compare(const char *a, const char *b)
{
	unsigned char x, y;

	while (*a && *a == *b) {
		a++;
		b++;
	}
	/* The end of a path comes first, then a '/', then all other bytes. */
	x = *a == '/' ? 1 : (unsigned char)*a;
	y = *b == '/' ? 1 : (unsigned char)*b;
	if (x == y && *a != *b)
		return *a == '/' ? -1 : 1;
	return x < y ? -1 : x > y;
}
