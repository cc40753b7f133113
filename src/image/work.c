/* SPDX-License-Identifier: Apache-2.0 */
#include "image/work.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "image/config.h"
#include "image/tree.h"

#define ATTEMPTS 10 /* attempts to lock a folder that other processes rename meanwhile */
#define PARTIAL_SIZE 96
/* A builder whose server was killed notices it within a second or two, and lets the lock go. */
#define LOCK_WAIT_MS 5000
#define LOCK_EVERY_MS 50

static void partial_name(const char *name, char out[PARTIAL_SIZE])
{
	(void)snprintf(out, PARTIAL_SIZE, ".%s.partial", name);
}

/* Another owner could change the folder during the work. */
static int check_owner(int fd, const char *what, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return FAIL_ERRNO(err, "look at %s", what);
	if (st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	(void)FAIL(err, ERROR_FORBIDDEN, "%s belongs to user %u", what, st.st_uid);
	return FAIL_HINT(err, "it must belong to root, and only root may write to it");
}

static int open_templates(struct work *w, const char *path, struct error *err)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make '%s'", path);
	w->templates = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->templates < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	return check_owner(w->templates, "the folder of the templates", err);
}

static bool is_same_folder(int fd, int parent, const char *name)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstatat(parent, name, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* 1: locked; 0: another process keeps the lock. */
static int wait_for_lock(int fd, const char *name, int64_t deadline, struct error *err)
{
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return FAIL_ERRNO(err, "lock '%s'", name);
		if (clock_monotonic_ms() >= deadline)
			return 0;
		(void)poll(NULL, 0, LOCK_EVERY_MS);
	}
	return 1;
}

/* Makes the folder or reuses an old one, and locks it. */
static int lock_folder(struct work *w, struct error *err)
{
	int64_t deadline = deadline_after(LOCK_WAIT_MS);
	char name[PARTIAL_SIZE];

	partial_name(w->spec->name, name);
	for (unsigned i = 0; i < ATTEMPTS; i++) {
		if (mkdirat(w->templates, name, 0700) < 0 && errno != EEXIST)
			return FAIL_ERRNO(err, "make '%s'", name);
		AUTO_CLOSE int fd =
		        openat(w->templates, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno != ENOENT)
			return FAIL_ERRNO(err, "open '%s'", name);
		if (fd < 0)
			continue;
		int locked = wait_for_lock(fd, name, deadline, err);
		if (locked < 0)
			return -1;
		if (locked == 0)
			break;
		if (!is_same_folder(fd, w->templates, name))
			continue;
		if (check_owner(fd, "an unfinished template", err) < 0)
			return -1;
		w->folder = TAKE_FD(fd);
		return 0;
	}
	return FAIL(err, ERROR_CONFLICT, "template '%s' is being made already", w->spec->name);
}

static int open_work(struct work *w, const struct image_spec *spec, struct error *err)
{
	w->spec = spec;
	if (image_name_check(spec->name, err) < 0 ||
	    open_templates(w, spec->templates_dir, err) < 0 || lock_folder(w, err) < 0)
		return -1;
	(void)snprintf(w->path, sizeof(w->path), "/proc/self/fd/%d/.", w->folder);
	(void)snprintf(w->root, sizeof(w->root), "%s/" IMAGE_ROOT, w->path);
	(void)snprintf(w->scratch, sizeof(w->scratch), "%s/scratch", w->path);
	return tree_remove(w->path, false, err);
}

int work_begin(struct work *w, const struct image_spec *spec, struct error *err)
{
	if (open_work(w, spec, err) < 0)
		return -1;
	if (faccessat(w->templates, spec->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return FAIL(err, ERROR_CONFLICT, "template '%s' exists already", spec->name);
	if (mkdir(w->root, 0755) < 0 || mkdir(w->scratch, 0700) < 0)
		return FAIL_ERRNO(err, "make the folders of a new template");
	return 0;
}

static void close_work(struct work *w)
{
	auto_close(&w->folder);
	auto_close(&w->templates);
	*w = WORK;
}

int work_commit(struct work *w, const struct image_config *config, struct error *err)
{
	const char *name = w->spec->name;
	char partial[PARTIAL_SIZE];

	partial_name(name, partial);
	/* The description comes first, because it is read only if the template exists. */
	if (tree_remove(w->scratch, true, err) < 0 ||
	    config_save(w->templates, name, config, err) < 0)
		return -1;
	/* After a crash the renamed folder must have its files' content. */
	if (syncfs(w->folder) < 0)
		return FAIL_ERRNO(err, "write the template to disk");
	if (renameat2(w->templates, partial, w->templates, name, RENAME_NOREPLACE) < 0)
		return FAIL_ERRNO(err, "rename '%s'", partial);
	close_work(w);
	return 0;
}

/* The lock is held, so no other process can have begun. */
static int remove_partial(struct work *w, struct error *err)
{
	char partial[PARTIAL_SIZE];

	partial_name(w->spec->name, partial);
	if (tree_remove(w->path, false, err) < 0)
		return -1;
	if (unlinkat(w->templates, partial, AT_REMOVEDIR) < 0)
		return FAIL_ERRNO(err, "remove '%s'", partial);
	return 0;
}

void work_done(struct work *w)
{
	struct error err = {0};

	if (w->folder >= 0 && remove_partial(w, &err) < 0)
		log_warning("unfinished template left, the next builder removes it", FAILURE(&err));
	close_work(w);
}

/* The template moves into the partial folder and is removed there: a reader finds it whole or not
 * at all, and the next maker empties what a crash left. */
int image_remove(const char *templates_dir, const char *name, struct error *err)
{
	struct image_spec spec = {.templates_dir = templates_dir, .name = name, .progress_fd = -1};
	AUTO(work_done) struct work w = WORK; /* ends before `job`, which it uses */

	if (open_work(&w, &spec, err) < 0)
		return -1;
	if (renameat(w.templates, name, w.folder, "removed") < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove template '%s'", name);
	if (config_remove(w.templates, name, err) < 0)
		return -1;
	return tree_remove(w.path, false, err);
}
