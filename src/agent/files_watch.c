/* SPDX-License-Identifier: Apache-2.0 */
/* WATCH: changes in a folder, with AGENT_PATH_RECURSIVE in its whole tree, until the client
 * closes. A new folder is scanned, so that no entry made before its watch is missed; an entry may
 * then be reported twice. A file that the agent replaces is reported once, as created under its
 * final name. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#include "agent/inspect.h"
#include "agent/replace.h"
#include "agent/walk.h"

#define WATCHES_MAX 8192
#define EVENTS_SIZE (16 * 1024)
#define WATCH_ENDS 1
#define MASK                                                                                       \
	(IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |             \
	 IN_ONLYDIR | IN_EXCL_UNLINK)

struct watched {
	int number; /* -1 = the watch has ended */
	char *path; /* relative; "" = the folder itself */
};

struct watcher {
	struct files *files;
	int folder, inotify;
	bool recursive;
	bool tells;                    /* report found entries as new */
	const char *prefix;            /* of the paths that a walk finds */
	struct inspection *inspection; /* NULL: entries are not reported */
	struct watched *list;
	size_t count, capacity;
};

static void watcher_done(struct watcher *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->list[i].path);
	free(w->list);
	auto_close(&w->inotify);
	auto_close(&w->folder);
}

static struct watched *watched_find(struct watcher *w, int number)
{
	for (size_t i = w->count; i > 0; i--)
		if (w->list[i - 1].number == number)
			return &w->list[i - 1];
	return NULL;
}

static void watched_put(struct watcher *w, int number, const char *path)
{
	struct watched *slot = watched_find(w, number);

	if (!slot)
		slot = watched_find(w, -1);
	if (!slot) {
		w->list = memory_grow(w->list, w->count, &w->capacity, sizeof(*w->list));
		slot = &w->list[w->count++];
		slot->path = NULL;
	}
	free(slot->path);
	slot->number = number;
	slot->path = memory_text(path);
}

/* inotify takes only paths; the path of a descriptor cannot be redirected. */
static int watch_fd(struct watcher *w, int fd, const char *path, struct error *err)
{
	char self[FILE_SELF_SIZE];
	int number;

	if (w->count == WATCHES_MAX && !watched_find(w, -1))
		return FAIL(err, ERROR_LIMIT, "more than %d folders to watch", WATCHES_MAX);
	file_self_path(fd, self);
	number = inotify_add_watch(w->inotify, self, MASK);
	if (number < 0 && errno == ENOSPC)
		return FAIL(err, ERROR_LIMIT, "no more folders can be watched");
	if (number < 0)
		return FAIL_ERRNO(err, "watch '%s'", path);
	watched_put(w, number, path);
	return 0;
}

static void forget_below(struct watcher *w, const char *path)
{
	size_t size = strlen(path);

	for (size_t i = 0; i < w->count; i++) {
		struct watched *item = &w->list[i];

		if (item->number < 0 || strncmp(item->path, path, size) != 0 ||
		    (item->path[size] != '/' && item->path[size] != '\0'))
			continue;
		(void)inotify_rm_watch(w->inotify, item->number);
		item->number = -1;
	}
}

/* A removed entry has no attributes; a path too long for a message is not reported. */
static void tell_entry(struct watcher *w, enum agent_change_kind kind, const char *path,
                       const struct stat *status)
{
	struct error ignored;

	if (!w->inspection || kind == AGENT_REMOVED || kind == AGENT_RENAMED)
		return;
	if (inspection_tell(w->inspection, w->folder, path, status, &ignored) == 0)
		files_flush(w->files);
}

static void send_change(struct watcher *w, enum agent_change_kind kind, const char *path)
{
	struct agent_change change = {.kind = kind, .path = path};
	struct stat status;

	if (strlen(path) >= BASE_DIR_PATH_MAX)
		return;
	if (fstatat(w->folder, path[0] ? path : ".", &status, AT_SYMLINK_NOFOLLOW) == 0) {
		change.type = file_type_of(&status);
		tell_entry(w, kind, path, &status);
	}
	files_send(w->files, AGENT_CHANGE, agent_change_shape, &change);
}

static void join_path(char out[BASE_DIR_PATH_MAX], const char *folder, const char *name)
{
	(void)snprintf(out, BASE_DIR_PATH_MAX, "%s%s%s", folder, folder[0] && name[0] ? "/" : "",
	               name);
}

static int see_entry(struct walk *walk, const struct walk_entry *entry, struct error *err)
{
	struct watcher *w = walk->context;
	char path[BASE_DIR_PATH_MAX];
	AUTO_CLOSE int fd = -1;

	if (replacement_is_temporary(entry->name))
		return WALK_ON;
	join_path(path, w->prefix, entry->path);
	if (w->tells)
		send_change(w, AGENT_CREATED, path);
	if (!S_ISDIR(entry->status.st_mode))
		return WALK_ON;
	fd = openat(entry->folder, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return WALK_SKIP;
	return watch_fd(w, fd, path, err) < 0 ? -1 : WALK_ON;
}

static int watch_below(struct watcher *w, int fd, const char *path, struct error *err)
{
	struct walk walk = {.on_entry = see_entry, .context = w, .passes_unreadable = true};

	w->prefix = path;
	return walk_run(&walk, fd, err) < 0 ? -1 : 0;
}

static int watch_new_folder(struct watcher *w, const char *path, struct error *err)
{
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
	                       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	AUTO_CLOSE int fd = fd_open_by(w->folder, path, &how);

	if (fd < 0)
		return 0; /* gone, or unreadable */
	if (watch_fd(w, fd, path, err) < 0)
		return -1;
	return watch_below(w, fd, path, err);
}

static int take_event(struct watcher *w, const struct inotify_event *event, struct error *err)
{
	static const struct {
		uint32_t bit;
		enum agent_change_kind kind;
	} kinds[] = {
	        {IN_CREATE, AGENT_CREATED},     {IN_MOVED_TO, AGENT_CREATED},
	        {IN_MODIFY, AGENT_MODIFIED},    {IN_DELETE, AGENT_REMOVED},
	        {IN_MOVED_FROM, AGENT_RENAMED}, {IN_ATTRIB, AGENT_CHMODDED},
	        {IN_Q_OVERFLOW, AGENT_LOST},
	};
	struct watched *at = watched_find(w, event->wd);
	char path[BASE_DIR_PATH_MAX] = "";

	if (event->mask & IN_IGNORED) {
		if (at)
			at->number = -1;
		return 0;
	}
	if (!at && !(event->mask & IN_Q_OVERFLOW))
		return 0;
	if (event->len && replacement_is_temporary(event->name))
		return 0;
	if (at)
		join_path(path, at->path, event->len ? event->name : "");
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (event->mask & kinds[i].bit)
			send_change(w, kinds[i].kind, path);
	if (!w->recursive || !(event->mask & IN_ISDIR))
		return 0;
	if (event->mask & IN_MOVED_FROM)
		forget_below(w, path);
	if (event->mask & (IN_CREATE | IN_MOVED_TO))
		return watch_new_folder(w, path, err);
	return 0;
}

/* Answers how many bytes of events it has taken, at least 0. */
static int take_events(struct watcher *w, struct error *err)
{
	_Alignas(struct inotify_event) char bytes[EVENTS_SIZE];
	ssize_t got = read(w->inotify, bytes, sizeof(bytes));

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : FAIL_ERRNO(err, "watch");
	for (char *at = bytes; at < bytes + got;) {
		const struct inotify_event *event = (const void *)at;

		if (take_event(w, event, err) < 0)
			return -1;
		at += sizeof(*event) + event->len;
	}
	return (int)got;
}

/* The kernel queues an event before the call that causes it returns, so that what happened before
 * the question is in the queue. */
static int answer_ping(struct watcher *w, struct error *err)
{
	struct span payload;
	uint16_t type;
	int left = 0, taken = files_next(w->files, &type, &payload, err);

	if (taken <= 0)
		return taken < 0 ? -1 : WATCH_ENDS;
	if (type != AGENT_PING)
		return FAIL(err, ERROR_INVALID, "a message %u while a folder is watched", type);
	if (ioctl(w->inotify, FIONREAD, &left) < 0)
		return FAIL_ERRNO(err, "watch");
	for (; left > 0 && taken > 0; left -= taken)
		if ((taken = take_events(w, err)) < 0)
			return -1;
	files_send(w->files, AGENT_READY, NULL, NULL);
	return 0;
}

/* Returns, without a failure, when the client closes. */
static int follow_events(struct watcher *w, struct error *err)
{
	struct pollfd fds[] = {{.fd = w->inotify, .events = POLLIN},
	                       {.fd = w->files->connection, .events = POLLIN}};

	for (;;) {
		if (poll(fds, COUNT_OF(fds), -1) < 0 && errno != EINTR)
			return FAIL_ERRNO(err, "watch");
		if (fds[0].revents && take_events(w, err) < 0)
			return -1;
		if (fds[1].revents) {
			int result = answer_ping(w, err);

			if (result != 0)
				return result;
		}
	}
}

int files_watch(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(watcher_done) struct watcher w = {.files = f,
	                                       .folder = -1,
	                                       .inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
	                                       .recursive = (m->flags & AGENT_PATH_RECURSIVE) != 0};
	AUTO(base_dir_done) struct base_dir place = {0};
	AUTO(inspection_done) struct inspection inspection = {.root = -1};

	if (w.inotify < 0)
		return FAIL_ERRNO(err, "watch");
	if (m->flags & AGENT_PATH_ENTRIES) {
		if (inspection_open(&inspection, f, m, err) < 0)
			return -1;
		w.inspection = &inspection;
	}
	if (base_dir_open(&place, &f->rules, m, err) < 0 ||
	    base_dir_find(&place, m->path, O_RDONLY | O_DIRECTORY, &w.folder, err) < 0 ||
	    watch_fd(&w, w.folder, "", err) < 0 ||
	    (w.recursive && watch_below(&w, w.folder, "", err) < 0))
		return -1;
	w.tells = true;
	files_send(f, AGENT_READY, NULL, NULL);
	return follow_events(&w, err); /* NOLINT(clang-analyzer-unix.Malloc): AUTO frees */
}
