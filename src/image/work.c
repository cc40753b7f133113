/* SPDX-License-Identifier: Apache-2.0 */
#include "image/work.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "image/config.h"
#include "image/tree.h"

#define ATTEMPTS 10 /* to lock a folder that others rename meanwhile */

static int format_path(char *out, size_t size, struct error *err, const char *format, ...)
        __attribute__((__format__(__printf__, 4, 5)));

static int format_path(char *out, size_t size, struct error *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int length = vsnprintf(out, size, format, args);
	va_end(args);
	return length < 0 || (size_t)length >= size
	               ? FAIL(err, ERROR_INVALID, "the path of the templates is too long")
	               : 0;
}

static bool is_same_folder(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Makes the folder or takes over an old one, and locks it. */
static int lock_folder(struct work *w, struct error *err)
{
	for (unsigned i = 0; i < ATTEMPTS; i++) {
		if (mkdir(w->path, 0700) < 0 && errno != EEXIST)
			return FAIL_ERRNO(err, "make '%s'", w->path);
		AUTO_CLOSE int fd = open(w->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno != ENOENT)
			return FAIL_ERRNO(err, "open '%s'", w->path);
		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK
			               ? FAIL(err, ERROR_CONFLICT,
			                      "template '%s' is being made already", w->job->name)
			               : FAIL_ERRNO(err, "lock '%s'", w->path);
		if (!is_same_folder(fd, w->path))
			continue;
		w->folder = TAKE_FD(fd);
		return 0;
	}
	return FAIL(err, ERROR_CONFLICT, "template '%s' is being made already", w->job->name);
}

static int open_work(struct work *w, const struct image_job *job, struct error *err)
{
	w->job = job;
	if (image_name_check(job->name, err) < 0 ||
	    format_path(w->path, sizeof(w->path), err, "%s/.%s.partial", job->templates_dir,
	                job->name) < 0 ||
	    format_path(w->root, sizeof(w->root), err, "%s/" IMAGE_ROOT, w->path) < 0 ||
	    format_path(w->scratch, sizeof(w->scratch), err, "%s/scratch", w->path) < 0)
		return -1;
	if (job->templates_dir[0] != '/')
		return FAIL(err, ERROR_INVALID, "'%s' is no absolute path", job->templates_dir);
	if (mkdir(job->templates_dir, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make '%s'", job->templates_dir);
	if (lock_folder(w, err) < 0)
		return -1;
	return tree_remove(w->path, false, err);
}

static int final_path(const struct work *w, char *out, size_t size, struct error *err)
{
	return format_path(out, size, err, "%s/%s", w->job->templates_dir, w->job->name);
}

int work_begin(struct work *w, const struct image_job *job, struct error *err)
{
	char private[sizeof(w->path)];
	char path[sizeof(w->path)];

	if (open_work(w, job, err) < 0 || final_path(w, path, sizeof(path), err) < 0 ||
	    format_path(private, sizeof(private), err, "%s/private", w->path) < 0)
		return -1;
	if (access(path, F_OK) == 0)
		return FAIL(err, ERROR_CONFLICT, "template '%s' exists already", job->name);
	if (mkdir(private, 0700) < 0 || mkdir(w->root, 0755) < 0 || mkdir(w->scratch, 0700) < 0)
		return FAIL_ERRNO(err, "make folders in '%s'", w->path);
	return 0;
}

int work_commit(struct work *w, const struct image_config *config, struct error *err)
{
	char path[sizeof(w->path)];

	if (final_path(w, path, sizeof(path), err) < 0 || tree_remove(w->scratch, true, err) < 0 ||
	    config_save(w->folder, config, err) < 0)
		return -1;
	/* A crash after the rename must find files, not their names alone. */
	if (fchmod(w->folder, 0755) < 0 || syncfs(w->folder) < 0)
		return FAIL_ERRNO(err, "write '%s' to disk", w->path);
	if (renameat2(AT_FDCWD, w->path, AT_FDCWD, path, RENAME_NOREPLACE) < 0)
		return FAIL_ERRNO(err, "rename '%s'", w->path);
	auto_close(&w->folder);
	w->folder = -1;
	return 0;
}

void work_done(struct work *w)
{
	struct error err = {0};

	if (w->folder < 0)
		return;
	/* While the lock is held: nobody else can have begun. */
	if (tree_remove(w->path, true, &err) < 0)
		log_warning("a failed template is left for the next builder to remove",
		            TEXT("path", w->path), FAILURE(&err));
	auto_close(&w->folder);
	w->folder = -1;
}

/* The template moves into the partial folder, from where it can be removed at leisure: a reader
 * finds it whole or not at all, and what a crash leaves is emptied by the next maker. */
int image_remove(const char *templates_dir, const char *name, struct error *err)
{
	AUTO(work_done) struct work w = WORK;
	struct image_job job = {.templates_dir = templates_dir, .name = name, .progress_fd = -1};
	char path[sizeof(w.path)];
	char removed[sizeof(w.path)];

	if (open_work(&w, &job, err) < 0 || final_path(&w, path, sizeof(path), err) < 0 ||
	    format_path(removed, sizeof(removed), err, "%s/removed", w.path) < 0)
		return -1;
	if (rename(path, removed) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove template '%s'", name);
	return tree_remove(w.path, false, err);
}
