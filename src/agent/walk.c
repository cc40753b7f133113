/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/folder_names.h"

#define PATH_TEXT_MAX (WALK_DEPTH_MAX * 256)

static int walk_folder(struct walk *w, int folder, unsigned depth, struct error *err);

static int go_into(struct walk *w, const struct walk_entry *entry, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	int next;

	if (w->depth_max && entry->depth >= w->depth_max)
		return WALK_ON;
	if (entry->depth >= WALK_DEPTH_MAX)
		return FAIL(err, ERROR_LIMIT, "folders are nested more than %d deep",
		            WALK_DEPTH_MAX);
	fd = openat(entry->folder, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return WALK_ON; /* another process replaced the entry */
	if (fd < 0 && errno == EACCES && w->passes_unreadable)
		return WALK_ON;
	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", entry->path);
	next = walk_folder(w, fd, entry->depth + 1, err);
	if (next == WALK_ON && w->on_leave)
		next = w->on_leave(w, entry, err);
	return next;
}

static int visit_entry(struct walk *w, struct walk_entry *entry, struct error *err)
{
	int next;

	if (fstatat(entry->folder, entry->name, &entry->status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? WALK_ON : FAIL_ERRNO(err, "stat '%s'", entry->path);
	next = w->on_entry(w, entry, err);
	if (next == WALK_SKIP)
		return WALK_ON;
	if (next == WALK_ON && S_ISDIR(entry->status.st_mode))
		return go_into(w, entry, err);
	return next;
}

static int walk_folder(struct walk *w, int folder, unsigned depth, struct error *err)
{
	AUTO(folder_names_done) struct folder_names names = {0};
	size_t start = w->path.size;
	int next = WALK_ON;

	if (folder_names_read(&names, folder, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count && next == WALK_ON; i++) {
		struct walk_entry entry = {.folder = folder, .name = names.list[i], .depth = depth};

		if (start)
			buf_add_byte(&w->path, '/');
		buf_add_text(&w->path, entry.name);
		entry.path = buf_text(&w->path);
		next = visit_entry(w, &entry, err);
		w->path.size = start;
		w->path.data[start] = '\0';
	}
	return next;
}

int walk_run(struct walk *w, int folder, struct error *err)
{
	int result;

	w->path = BUF(PATH_TEXT_MAX);
	result = walk_folder(w, folder, 1, err);
	buf_done(&w->path);
	return result;
}
