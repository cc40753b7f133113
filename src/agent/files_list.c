/* SPDX-License-Identifier: Apache-2.0 */
/* STAT, LIST and GLOB: which entries exist. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/glob.h"
#include "agent/walk.h"
#include "base/path.h"

#define DEPTH_MAX 64
#define LINK_MAX 4096

uint32_t file_type_of(const struct stat *status)
{
	if (S_ISREG(status->st_mode))
		return AGENT_FILE_REGULAR;
	if (S_ISDIR(status->st_mode))
		return AGENT_FILE_FOLDER;
	return S_ISLNK(status->st_mode) ? AGENT_FILE_SYMLINK : AGENT_FILE_OTHER;
}

struct agent_file file_describe(const char *path, const struct stat *status, const char *link)
{
	return (struct agent_file){
	        .path = path,
	        .link = link,
	        .type = file_type_of(status),
	        .mode = status->st_mode & 07777,
	        .uid = status->st_uid,
	        .gid = status->st_gid,
	        .size = (uint64_t)status->st_size,
	        .modified_unix_ms =
	                (int64_t)status->st_mtim.tv_sec * 1000 + status->st_mtim.tv_nsec / 1000000,
	};
}

void files_send_file(struct files *f, const char *path, const struct stat *status, const char *link)
{
	struct agent_file file = file_describe(path, status, link);

	files_send(f, AGENT_FILE, agent_file_shape, &file);
}

const char *file_link(struct arena *a, int folder, const char *name)
{
	char target[LINK_MAX];
	ssize_t size = readlinkat(folder, name, target, sizeof(target));

	return size > 0 ? arena_copy(a, (struct span){target, (size_t)size}) : "";
}

void file_self_path(int fd, char out[FILE_SELF_SIZE])
{
	(void)snprintf(out, FILE_SELF_SIZE, "/proc/self/fd/%d", fd);
}

int files_stat(struct files *f, const struct agent_path *m, struct error *err)
{
	int flags = O_PATH | (m->flags & AGENT_PATH_NO_FOLLOW ? O_NOFOLLOW : 0);
	AUTO(base_dir_done) struct base_dir place = {0};
	AUTO_CLOSE int fd = -1;
	struct stat status;

	if (base_dir_open(&place, &f->rules, m, err) < 0 ||
	    base_dir_find(&place, m->path, flags, &fd, err) < 0)
		return -1;
	if (fstat(fd, &status) < 0)
		return FAIL_ERRNO(err, "stat '%s'", m->path);
	files_send_file(f, m->path, &status,
	                S_ISLNK(status.st_mode) ? file_link(&f->arena, fd, "") : "");
	files_send_done(f, 1);
	return 1;
}

uint64_t files_entries_max(const struct agent_path *m)
{
	return m->size_max && m->size_max < FILES_ENTRIES_MAX ? m->size_max : FILES_ENTRIES_MAX;
}

static int open_folder(struct files *f, const struct agent_path *m, int *ret_fd, struct error *err)
{
	AUTO(base_dir_done) struct base_dir place = {0};

	if (base_dir_open(&place, &f->rules, m, err) < 0)
		return -1;
	return base_dir_find(&place, m->path, O_RDONLY | O_DIRECTORY, ret_fd, err);
}

struct file_listing {
	struct files *files;
	struct arena links; /* of one entry */
	const char *after;  /* "" = from the first entry on */
	uint64_t count, count_max;
	uint64_t since_ms,
	        seen; /* with a time limit the number of visited entries is limited, too */
};

static bool is_wanted(const struct file_listing *l, const struct stat *status)
{
	const struct timespec *t = &status->st_ctim;

	return l->since_ms == 0 ||
	       (S_ISREG(status->st_mode) &&
	        (uint64_t)t->tv_sec * 1000 + (uint64_t)t->tv_nsec / 1000000 >= l->since_ms);
}

/* For an entry that does not come after l->after in the order of the walk: WALK_SKIP, or WALK_ON
 * for a folder whose contents may come after it. */
static int skip_entry(const struct file_listing *l, const char *path)
{
	size_t size = strlen(path);

	return strncmp(l->after, path, size) == 0 && (!l->after[size] || l->after[size] == '/')
	               ? WALK_ON
	               : WALK_SKIP;
}

static int list_entry(struct walk *w, const struct walk_entry *entry, struct error *err)
{
	struct file_listing *l = w->context;
	struct agent_file file = file_describe(entry->path, &entry->status, "");

	if (l->after[0] && path_compare(entry->path, l->after) <= 0)
		return skip_entry(l, entry->path);
	if (l->count == l->count_max || (l->since_ms && l->seen++ == FILES_ENTRIES_MAX))
		return WALK_STOP;
	if (!is_wanted(l, &entry->status))
		return WALK_ON;
	arena_reset(&l->links);
	if (S_ISLNK(entry->status.st_mode))
		file.link = file_link(&l->links, entry->folder, entry->name);
	l->count++;
	return files_add_file(l->files, &file, err);
}

int files_list(struct files *f, const struct agent_path *m, struct error *err)
{
	struct file_listing l = {.files = f,
	                         .after = m->target,
	                         .count_max = files_entries_max(m),
	                         .since_ms = m->offset};
	struct walk walk = {.on_entry = list_entry,
	                    .context = &l,
	                    .depth_max = m->depth ? m->depth : 1,
	                    .passes_unreadable = true};
	AUTO_CLOSE int fd = -1;
	int result;

	if (walk.depth_max > DEPTH_MAX)
		return FAIL(err, ERROR_INVALID, "depth is more than %d", DEPTH_MAX);
	if (open_folder(f, m, &fd, err) < 0)
		return -1;
	result = walk_run(&walk, fd, err);
	arena_done(&l.links);
	if (result < 0)
		return -1;
	files_flush(f);
	files_send_done(f, l.count);
	return 1;
}

struct match {
	const char *path; /* in the request's arena */
	struct stat status;
};

struct matches {
	struct files *files;
	struct globs globs;
	struct match *list;
	size_t count, capacity, count_max;
};

static void matches_done(struct matches *m)
{
	free(m->list);
}

static int add_match(struct walk *w, const struct walk_entry *entry, UNUSED struct error *err)
{
	struct matches *m = w->context;

	if (!globs_match(&m->globs, entry->path))
		return WALK_ON;
	if (m->count == m->count_max)
		return WALK_STOP;
	m->list = memory_grow(m->list, m->count, &m->capacity, sizeof(*m->list));
	m->list[m->count++] =
	        (struct match){arena_text(&m->files->arena, entry->path), entry->status};
	return WALK_ON;
}

static int compare_newest(const void *a, const void *b)
{
	const struct match *left = a, *right = b;
	const struct timespec *l = &left->status.st_mtim, *r = &right->status.st_mtim;

	if (l->tv_sec != r->tv_sec)
		return l->tv_sec > r->tv_sec ? -1 : 1;
	if (l->tv_nsec != r->tv_nsec)
		return l->tv_nsec > r->tv_nsec ? -1 : 1;
	return strcmp(left->path, right->path);
}

/* Other types match nothing. */
static int check_relative(const char *pattern, struct error *err)
{
	struct span rest = span_of(pattern), name;

	if (pattern[0] == '\0' || pattern[0] == '/')
		return FAIL(err, ERROR_INVALID, "pattern '%s' is not relative", pattern);
	while (rest.size > 0) {
		(void)span_split(&rest, '/', &name);
		if (span_equals_text(name, ".."))
			return FAIL(err, ERROR_INVALID, "pattern '%s' contains '..'", pattern);
	}
	return 0;
}

int files_glob(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(matches_done) struct matches found = {.files = f,
	                                           .count_max = (size_t)files_entries_max(m)};
	struct walk walk = {.on_entry = add_match, .context = &found, .passes_unreadable = true};
	AUTO_CLOSE int fd = -1;

	if (globs_parse(&f->arena, m->target, &found.globs, err) < 0)
		return -1;
	for (size_t i = 0; i < found.globs.count; i++)
		if (check_relative(found.globs.patterns[i], err) < 0)
			return -1;
	walk.depth_max = globs_depth(&found.globs);
	if (open_folder(f, m, &fd, err) < 0 || walk_run(&walk, fd, err) < 0)
		return -1;
	if (found.count)
		qsort(found.list, found.count, sizeof(*found.list), compare_newest);
	for (size_t i = 0; i < found.count; i++) {
		struct agent_file file =
		        file_describe(found.list[i].path, &found.list[i].status, "");

		if (files_add_file(f, &file, err) < 0)
			return -1;
	}
	files_flush(f);
	files_send_done(f, found.count);
	return 1;
}
