/* SPDX-License-Identifier: Apache-2.0 */
/* Extended attributes of files, as short texts. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "agent/files.h"

#define NAMES_SIZE (64 * 1024) /* the longest list of the kernel */
#define NAME_SIZE 256

/* "name=value", or NULL if the value is gone or is no text. */
static const char *read_attribute(struct arena *a, const char *path, const char *name, size_t skip,
                                  size_t *room)
{
	char value[AGENT_ATTRIBUTES_BYTES_MAX];
	ssize_t size = getxattr(path, name, value, sizeof(value));
	size_t needed = strlen(name + skip) + 1;

	if (size < 0 || memchr(value, '\0', (size_t)size) || needed + (size_t)size > *room)
		return NULL;
	*room -= needed + (size_t)size;
	return arena_format(a, "%s=%.*s", name + skip, (int)size, value);
}

const char **file_attributes(struct arena *a, const char *path, const char *beginning)
{
	const char **list = ARENA_ARRAY(a, const char *, 1), **more;
	size_t size = strlen(beginning), room = AGENT_ATTRIBUTES_BYTES_MAX, count = 0;
	char *names;
	ssize_t got = size > 0 ? listxattr(path, NULL, 0) : 0;

	if (got <= 0)
		return list;
	names = arena_alloc(a, NAMES_SIZE);
	got = listxattr(path, names, NAMES_SIZE);
	more = ARENA_ARRAY(a, const char *, AGENT_ATTRIBUTES_MAX + 1);
	for (char *name = names; got > 0 && name < names + got; name += strlen(name) + 1) {
		if (strncmp(name, beginning, size) != 0 || count == AGENT_ATTRIBUTES_MAX)
			continue;
		more[count] = read_attribute(a, path, name, size, &room);
		count += more[count] != NULL;
	}
	return more;
}

static int fail_attributes(const char *path, struct error *err)
{
	if (errno == EOPNOTSUPP)
		return FAIL(err, ERROR_UNSUPPORTED, "the filesystem of '%s' keeps no attributes",
		            path);
	if (errno == ENOSPC || errno == E2BIG || errno == EDQUOT)
		return FAIL(err, ERROR_TOO_LARGE, "the attributes of '%s' are too large", path);
	return FAIL_ERRNO(err, "set the attributes of '%s'", path);
}

static int remove_attributes(struct files *f, const char *self, const struct agent_path *m,
                             const char *beginning, struct error *err)
{
	size_t size = strlen(beginning);
	char *names = arena_alloc(&f->arena, NAMES_SIZE);
	ssize_t got = listxattr(self, names, NAMES_SIZE);

	if (got < 0)
		return errno == EOPNOTSUPP ? 0 : fail_attributes(m->path, err);
	for (char *name = names; name < names + got; name += strlen(name) + 1)
		if (strncmp(name, beginning, size) == 0 && removexattr(self, name) < 0 &&
		    errno != ENODATA)
			return fail_attributes(m->path, err);
	return 0;
}

static int set_attribute(const char *self, const struct agent_path *m, const char *beginning,
                         struct span line, struct error *err)
{
	struct span value = line, name;
	char full[NAME_SIZE];

	if (!span_split(&value, '=', &name) || name.size == 0 ||
	    strlen(beginning) + name.size >= sizeof(full))
		return FAIL(err, ERROR_INVALID, "'%.*s' is no attribute",
		            (int)(line.size < 64 ? line.size : 64), line.data);
	(void)snprintf(full, sizeof(full), "%s%.*s", beginning, (int)name.size, name.data);
	return setxattr(self, full, value.data, value.size, 0) < 0 ? fail_attributes(m->path, err)
	                                                           : 0;
}

int files_set_attributes(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(base_dir_done) struct base_dir place = {0};
	struct span rest = span_of(m->target), line;
	AUTO_CLOSE int fd = -1;
	const char *beginning;
	uint64_t count = 0;
	char self[FILE_SELF_SIZE];

	(void)span_split(&rest, '\n', &line);
	beginning = arena_copy(&f->arena, line);
	if (strncmp(beginning, "user.", 5) != 0)
		return FAIL(err, ERROR_INVALID, "attributes '%s' are not ours to set", beginning);
	if (base_dir_open(&place, &f->rules, m, err) < 0 ||
	    base_dir_find(&place, m->path, O_PATH, &fd, err) < 0)
		return -1;
	file_self_path(fd, self);
	if (remove_attributes(f, self, m, beginning, err) < 0)
		return -1;
	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		if (set_attribute(self, m, beginning, line, err) < 0)
			return -1;
		count++;
	}
	files_send_done(f, count);
	return 1;
}
