/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define ESCAPED_MAX (4 * PATH_MAX)

/* "36 35 98:0 /root /point ro,nosuid …" */
static bool parse_row(struct span line, struct mount_row *ret)
{
	struct span id, parent, options, first;
	struct error ignored = {0};

	if (!span_split(&line, ' ', &id) || !span_split(&line, ' ', &parent) ||
	    !span_split(&line, ' ', &ret->device) || !span_split(&line, ' ', &ret->root) ||
	    !span_split(&line, ' ', &ret->point) || !span_split(&line, ' ', &options))
		return false;
	(void)span_split(&options, ',', &first);
	ret->is_read_only = span_equals_text(first, "ro");
	return span_parse_whole(id, 0, INT64_MAX, &ret->id, &ignored) == 0 &&
	       span_parse_whole(parent, 0, INT64_MAX, &ret->parent, &ignored) == 0;
}

bool mountinfo_next(struct span *rest, struct mount_row *ret)
{
	struct span line;

	while (rest->size > 0) {
		(void)span_split(rest, '\n', &line);
		if (parse_row(line, ret))
			return true;
	}
	return false;
}

/* The file of a process that ends can be opened no more: the kernel then answers EINVAL. */
int mountinfo_read(pid_t pid, struct buf *ret, struct error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	if (file_read(AT_FDCWD, path, ret, err) == 0)
		return 0;
	if (err->sys_errno == EINVAL || err->sys_errno == ENOENT || err->sys_errno == ESRCH)
		return FAIL(err, ERROR_CONFLICT, "process %d of the sandbox has ended", pid);
	return -1;
}

void mount_folder_init(struct mount_folder *p)
{
	*p = (struct mount_folder){.root = BUF(2 * ESCAPED_MAX)};
}

void mount_folder_done(struct mount_folder *p)
{
	buf_done(&p->root);
}

/* The characters that the kernel escapes in these two columns. */
static void add_escaped(struct buf *b, const char *text)
{
	for (; *text; text++) {
		if (strchr(" \t\n\\", *text))
			buf_addf(b, "\\%03o", (unsigned)(unsigned char)*text);
		else
			buf_add_byte(b, *text);
	}
}

/* The rest of `path` below `folder`: "", or a text that begins with a slash. Every path is below
 * "/". */
static bool strip_folder(struct span path, struct span folder, struct span *ret)
{
	if (span_equals_text(folder, "/"))
		folder.size = 0;
	if (path.size < folder.size ||
	    (folder.size > 0 && memcmp(path.data, folder.data, folder.size) != 0))
		return false;
	*ret = (struct span){path.data + folder.size, path.size - folder.size};
	return ret->size == 0 || ret->data[0] == '/';
}

int mount_folder_find(struct span mountinfo, int64_t mount, const char *path,
                      struct mount_folder *ret, struct error *err)
{
	AUTO(buf_done) struct buf escaped = BUF(ESCAPED_MAX);
	struct mount_row row;
	struct span rest;

	add_escaped(&escaped, path);
	while (mountinfo_next(&mountinfo, &row)) {
		if (row.id != mount)
			continue;
		if (!strip_folder(buf_span(&escaped), row.point, &rest))
			break;
		(void)snprintf(ret->device, sizeof(ret->device), "%.*s", (int)row.device.size,
		               row.device.data);
		buf_reset(&ret->root);
		if (!span_equals_text(row.root, "/"))
			buf_add_span(&ret->root, row.root);
		if (!span_equals_text(rest, "/"))
			buf_add_span(&ret->root, rest);
		if (escaped.overflowed || ret->root.overflowed)
			return FAIL(err, ERROR_LIMIT, "the path '%.100s' is too long", path);
		return 0;
	}
	return FAIL(err, ERROR_SYSTEM, "no mount here has '%.160s'", path);
}

int mount_folder_of(int folder, struct mount_folder *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(MOUNTINFO_MAX);
	char link[64], path[PATH_MAX];
	struct statx status;
	ssize_t size;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	if (statx(folder, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) < 0 ||
	    (size = readlink(link, path, sizeof(path) - 1)) < 0)
		return FAIL_ERRNO(err, "find the mount of a folder");
	path[size] = '\0';
	if (file_read(AT_FDCWD, "/proc/self/mountinfo", &text, err) < 0)
		return -1;
	return mount_folder_find(buf_span(&text), (int64_t)status.stx_mnt_id, path, ret, err);
}

bool mount_folder_has(const struct mount_folder *p, const struct mount_row *row)
{
	struct span ignored;

	return span_equals_text(row->device, p->device) &&
	       strip_folder(row->root, buf_span(&p->root), &ignored);
}

bool mount_folder_is(const struct mount_folder *p, const struct mount_row *row)
{
	struct span rest;

	return span_equals_text(row->device, p->device) &&
	       strip_folder(row->root, buf_span(&p->root), &rest) &&
	       (rest.size == 0 || (p->root.size == 0 && rest.size == 1));
}
