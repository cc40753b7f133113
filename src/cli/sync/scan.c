/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the files of both sides. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "cli/core/server.h"
#include "cli/sync/sync.h"

#define WATCHED                                                                                    \
	(IN_CREATE | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |        \
	 IN_ONLYDIR)

static bool is_ignored(const struct folder_sync *s, const char *path, bool is_folder)
{
	return gitignore_matches(&s->ignore, path, is_folder);
}

static const char *time_text(struct arena *a, const struct stat *st)
{
	return arena_format(a, "%lld.%09ld", (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

static struct sync_file file_of(struct folder_sync *s, const char *path, const struct stat *st)
{
	return (struct sync_file){.path = path,
	                          .size = st->st_size,
	                          .is_program = st->st_mode & 0100,
	                          .time = time_text(&s->arena, st)};
}

int sync_stat_here(struct folder_sync *s, int parent, const char *name, struct sync_file *ret)
{
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	*ret = file_of(s, name, &st);
	return S_ISREG(st.st_mode) ? 1 : -1;
}

static int read_rules(struct folder_sync *s, int folder, const char *path)
{
	const struct fd_open_options options = {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY};
	AUTO(buf_done) struct buf text = BUF(GITIGNORE_SIZE_MAX);
	AUTO_CLOSE int fd = -1;
	struct error ignored = {0};

	/* A link or a folder called .gitignore has no rules. */
	if (fd_open_beneath(folder, ".gitignore", &options, &fd, &ignored) < 0)
		return 0;
	if (fd_read_to_end(fd, &text, s->cli->err) < 0)
		return FAIL_CONTEXT(s->cli->err, "'%s/.gitignore'", path);
	gitignore_add(&s->ignore, path, buf_span(&text));
	return 0;
}

static int scan_folder(struct folder_sync *s, int fd, const char *path, unsigned depth);

static int scan_path(struct folder_sync *s, int folder, const char *path, unsigned depth)
{
	const struct fd_open_options options = {.flags = O_RDONLY | O_DIRECTORY};
	struct sync_file file;
	struct stat st;
	int fd;

	if (fstatat(folder, path_last(path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : FAIL_ERRNO(s->cli->err, "look at '%s'", path);
	if (is_ignored(s, path, S_ISDIR(st.st_mode)))
		return 0;
	if (!sync_path_is_fit(path)) {
		s->skipped += !S_ISDIR(st.st_mode) && strncasecmp(path_last(path), ".git", 5) != 0;
		return 0;
	}
	if (S_ISDIR(st.st_mode)) {
		if (fd_open_beneath(folder, path_last(path), &options, &fd, s->cli->err) < 0)
			return FAIL_CONTEXT(s->cli->err, "'%s'", path);
		return scan_folder(s, fd, path, depth + 1);
	}
	if (!S_ISREG(st.st_mode)) {
		s->links++;
		return 0;
	}
	if (s->here.count == SYNC_FILES_MAX)
		return FAIL(s->cli->err, ERROR_TOO_LARGE, "more than %d files; see .gitignore",
		            SYNC_FILES_MAX);
	file = file_of(s, path, &st);
	sync_list_add(&s->here, &file);
	return 0;
}

/* Cleans up after a killed run. Received bytes are deleted. A file that was being exchanged may be
 * the only copy and gets a visible name. Returns 1 if the name was such a leftover. */
static int clean_leftover(struct folder_sync *s, const char *name)
{
	const char *exchanged = sync_exchanged_name(name);

	if (!exchanged && !sync_is_part(name))
		return 0;
	if (s->is_dry)
		return 1;
	if (!exchanged)
		(void)unlinkat(s->folder, name, 0);
	else if (sync_keep_beside(s, name, &(struct sync_place){s->folder, exchanged, exchanged},
	                          s->cli->err) < 0)
		return -1;
	return 1;
}

static int scan_entry(struct folder_sync *s, int folder, const char *path, const char *name,
                      unsigned depth)
{
	int tidied = depth == 0 ? clean_leftover(s, name) : 0;

	if (tidied != 0)
		return tidied < 0 ? -1 : 0;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	return scan_path(s, folder, arena_format(&s->arena, "%s%s%s", path, *path ? "/" : "", name),
	                 depth);
}

/* The listing takes the descriptor. */
static int scan_folder(struct folder_sync *s, int fd, const char *path, unsigned depth)
{
	DIR *listing = fdopendir(fd);
	struct dirent *entry;
	int result = 0;

	if (!listing) {
		(void)close(fd);
		return FAIL_ERRNO(s->cli->err, "list '%s'", path);
	}
	if (s->inotify >= 0)
		(void)inotify_add_watch(s->inotify, arena_format(&s->arena, "/proc/self/fd/%d", fd),
		                        WATCHED);
	if (depth > SYNC_DEPTH_MAX)
		result = FAIL(s->cli->err, ERROR_TOO_LARGE, "'%s' is deeper than %d folders", path,
		              SYNC_DEPTH_MAX);
	if (result == 0)
		result = read_rules(s, fd, path);
	while (result == 0 && (entry = readdir(listing)))
		result = scan_entry(s, dirfd(listing), path, entry->d_name, depth);
	(void)closedir(listing);
	return result;
}

static int look_here(struct folder_sync *s)
{
	int top = openat(s->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (top < 0)
		return FAIL_ERRNO(s->cli->err, "open '%s'", s->local);
	if (scan_folder(s, top, "", 0) < 0)
		return FAIL_CONTEXT(s->cli->err, "'%s'", s->local);
	sync_list_index(&s->here);
	return 0;
}

int sync_open_parent(struct folder_sync *s, const char *path, bool make, int *ret_fd,
                     struct error *err)
{
	const struct fd_open_options options = {.flags = O_RDONLY | O_DIRECTORY};
	AUTO_CLOSE int fd = openat(s->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[256];

	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", s->local);
	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		int next;

		memcpy(name, path, (size_t)(slash - path));
		name[slash - path] = '\0';
		if (make && mkdirat(fd, name, 0777) < 0 && errno != EEXIST)
			return FAIL_ERRNO(err, "make the folder '%s'", name);
		if (fd_open_beneath(fd, name, &options, &next, err) < 0)
			return -1;
		(void)close(fd);
		fd = next;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

const char *sync_url(struct folder_sync *s, const char *kind, const char *path, const char *rest)
{
	const char *whole = arena_format(&s->arena, "%s%s%s", s->remote, *path ? "/" : "", path);

	return instance_path(&s->arena, s->sandbox, escaped_path(&s->arena, kind, whole, rest));
}

static void take_entry(struct folder_sync *s, struct sync_list *list,
                       const struct json_value *entry)
{
	const char *path = json_get_text(entry, "path", "");
	const char *mode = json_get_text(entry, "mode", "0644");
	struct sync_file file = {.path = path,
	                         .size = json_get_whole(entry, "size", 0),
	                         .is_program = strlen(mode) == 4 && (mode[1] & 1),
	                         .time = json_get_text(entry, "modified_at", "")};

	const char *type = json_get_text(entry, "type", "");
	bool is_folder = strcmp(type, "directory") == 0;

	if (strcmp(type, "file") != 0) {
		s->links += !is_folder;
		map_put(is_folder ? &s->folders_there : &s->links_there, path, s);
		return;
	}
	if (strchr(file.time, '\n') == NULL && sync_path_is_fit(path))
		sync_list_add(list, &file);
	else
		s->skipped++;
}

static int list_there(struct folder_sync *s, struct sync_list *ret)
{
	const char *path = sync_url(s, "/files?path=", "", "&depth=64");
	const struct json_value *answer, *items;

	s->listed_ms = 0;
	map_done(&s->folders_there);
	map_done(&s->links_there);
	s->folders_there = s->links_there = (struct map){0};
	if (server_get(s->cli, path, &answer) < 0) {
		if (s->cli->err->code != ERROR_NOT_FOUND)
			return FAIL_CONTEXT(s->cli->err, "list '%s'", s->remote);
		/* The first upload creates the folder. */
		error_clear(s->cli->err);
		return 0;
	}
	if (json_get_bool(answer, "truncated", false)) {
		(void)FAIL(s->cli->err, ERROR_TOO_LARGE,
		           "'%s' in the sandbox has more than %d entries", s->remote,
		           SYNC_FILES_MAX);
		return FAIL_HINT(s->cli->err, "keep large trees outside of it, in /tmp for one");
	}
	s->listed_ms = json_get_whole(answer, "listed_at_ms", 0);
	items = answer_items(answer);
	for (size_t i = 0; i < json_count(items); i++)
		take_entry(s, ret, json_item_at(items, i));
	return 0;
}

/* The folder of a .gitignore; NULL if the path is not one. */
static const char *rules_folder(struct arena *a, const char *path)
{
	size_t size = strlen(path) - strlen(path_last(path));

	if (strcmp(path_last(path), ".gitignore") != 0)
		return NULL;
	return arena_copy(a, (struct span){path, size > 0 ? size - 1 : 0});
}

/* Where the local side has no rules, the sandbox's rules apply to received files. */
static int read_rules_there(struct folder_sync *s, const struct sync_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct sync_file *file = &list->items[i];
		const char *folder = rules_folder(&s->arena, file->path);
		struct http_answer answer = {0};
		struct http_call call = {.method = "GET"};

		if (!folder || gitignore_has(&s->ignore, folder) || is_ignored(s, folder, true) ||
		    file->size > GITIGNORE_SIZE_MAX)
			continue;
		call.path = sync_url(s, "/files/content?path=", file->path, "&length=65536");
		if (http_client_call(s->cli->client, &call, &answer, s->cli->err) < 0)
			return FAIL_CONTEXT(s->cli->err, "read '%s'", file->path);
		gitignore_add(&s->ignore, folder, buf_span(&answer.body));
		buf_done(&answer.body);
	}
	return 0;
}

static void drop_ignored(struct folder_sync *s, struct sync_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		if (!is_ignored(s, list->items[i].path, false))
			list->items[kept++] = list->items[i];
	list->count = kept;
}

int sync_look_there(struct folder_sync *s, struct sync_list *ret)
{
	size_t links = s->links, skipped = s->skipped;

	if (list_there(s, ret) < 0)
		return -1;
	/* They were counted already. */
	s->links = links;
	s->skipped = skipped;
	drop_ignored(s, ret);
	sync_list_index(ret);
	return 0;
}

int sync_look(struct folder_sync *s)
{
	/* Local rules are read first and take precedence in their folders. */
	if (look_here(s) < 0 || list_there(s, &s->there) < 0)
		return -1;
	if (s->there.count > 0)
		qsort(s->there.items, s->there.count, sizeof(*s->there.items), sync_file_compare);
	if (read_rules_there(s, &s->there) < 0)
		return -1;
	drop_ignored(s, &s->there);
	sync_list_index(&s->there);
	/* The sandbox's rules may also exclude local files. */
	map_done(&s->here.by_path);
	drop_ignored(s, &s->here);
	sync_list_index(&s->here);
	return 0;
}
