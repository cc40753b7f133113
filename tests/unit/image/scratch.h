/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of its own for a test, below /tmp, and small helpers in it. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "image/tree.h"

struct scratch {
	char path[64];
	int fd;
};

static inline struct scratch scratch_new(void)
{
	struct scratch s = {.path = "/tmp/atoll-test-XXXXXX"};

	assert_non_null(mkdtemp(s.path));
	s.fd = open(s.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(s.fd >= 0);
	return s;
}

static inline void scratch_done(struct scratch *s)
{
	struct error err = {0};

	close(s->fd);
	assert_int_equal(tree_remove(s->path, true, &err), 0);
}

static inline void scratch_write(const struct scratch *s, const char *path, const char *text)
{
	struct error err = {0};

	assert_int_equal(file_write(s->fd, path, span_of(text), 0644, &err), 0);
}

/* The text of a small file; "(none)" when it is missing. */
static inline const char *scratch_read(const struct scratch *s, const char *path)
{
	static char text[4096];
	int fd = openat(s->fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (size < 0)
		return "(none)";
	text[size] = '\0';
	return text;
}

static inline mode_t scratch_mode(const struct scratch *s, const char *path)
{
	struct stat st;

	return fstatat(s->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_mode;
}

static inline void scratch_folder(const struct scratch *s, const char *path)
{
	assert_int_equal(mkdirat(s->fd, path, 0755), 0);
}
