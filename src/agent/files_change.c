/* SPDX-License-Identifier: Apache-2.0 */
/* MKDIR, REMOVE and RENAME. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/walk.h"

#define MODE_FOLDER 0755

static int send_spot(struct files *f, const struct spot *spot, const char *path, struct error *err)
{
	struct stat status;

	if (fstatat(spot->folder, spot->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "stat '%s'", path);
	files_send_file(f, path, &status,
	                S_ISLNK(status.st_mode) ? file_link(&f->arena, spot->folder, spot->name)
	                                        : "");
	files_send_done(f, 1);
	return 1;
}

/* Whether the path is a folder, or a link to a folder that the base directory allows. */
static int check_folder(const struct base_dir *p, const struct agent_path *m, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	struct error not_a_folder;

	if (m->flags & AGENT_PATH_MAY_EXIST &&
	    base_dir_find(p, m->path, O_PATH | O_DIRECTORY, &fd, &not_a_folder) == 0)
		return 0;
	return FAIL(err, ERROR_CONFLICT, "'%s' exists", m->path);
}

static int adopt_folder(const struct base_dir *place, const struct agent_path *m, mode_t mode,
                        struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (!(m->flags & AGENT_PATH_ADOPT))
		return 0;
	if (base_dir_find(place, m->path, O_RDONLY | O_DIRECTORY, &fd, err) < 0 ||
	    base_dir_give(place, fd, "", err) < 0)
		return -1;
	return fchmod(fd, mode) < 0 ? FAIL_ERRNO(err, "set the mode of '%s'", m->path) : 0;
}

int files_mkdir(struct files *f, const struct agent_path *m, struct error *err)
{
	mode_t mode = m->mode ? m->mode & 07777 : MODE_FOLDER;
	AUTO(base_dir_done) struct base_dir place = {0};
	AUTO(spot_done) struct spot spot = {.folder = -1};

	if (base_dir_open(&place, &f->rules, m, err) < 0 ||
	    spot_open(&place, &f->arena, m->path, files_parents_flag(m), &spot, err) < 0)
		return -1;
	if (mkdirat(spot.folder, spot.name, mode) < 0) {
		if (errno != EEXIST)
			return FAIL_ERRNO(err, "make folder '%s'", m->path);
		if (check_folder(&place, m, err) < 0)
			return -1;
	} else if (base_dir_give(&place, spot.folder, spot.name, err) < 0) {
		return -1;
	}
	if (adopt_folder(&place, m, mode, err) < 0)
		return -1;
	return send_spot(f, &spot, m->path, err);
}

static int remove_entry(struct walk *w, const struct walk_entry *entry, struct error *err)
{
	if (S_ISDIR(entry->status.st_mode))
		return WALK_ON;
	if (unlinkat(entry->folder, entry->name, 0) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove '%s'", entry->path);
	++*(uint64_t *)w->context;
	return WALK_ON;
}

static int remove_folder(struct walk *w, const struct walk_entry *entry, struct error *err)
{
	if (unlinkat(entry->folder, entry->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove folder '%s'", entry->path);
	++*(uint64_t *)w->context;
	return 0;
}

static int remove_tree(const struct spot *spot, const char *path, uint64_t *count,
                       struct error *err)
{
	struct walk walk = {.on_entry = remove_entry, .on_leave = remove_folder, .context = count};
	AUTO_CLOSE int fd =
	        openat(spot->folder, spot->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	if (walk_run(&walk, fd, err) < 0)
		return -1;
	if (unlinkat(spot->folder, spot->name, AT_REMOVEDIR) < 0)
		return FAIL_ERRNO(err, "remove folder '%s'", path);
	return 0;
}

static int remove_spot(const struct spot *spot, const struct agent_path *m, uint64_t *count,
                       struct error *err)
{
	struct stat status;

	if (fstatat(spot->folder, spot->name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT && m->flags & AGENT_PATH_MAY_EXIST)
			return 0;
		return FAIL_ERRNO(err, "remove '%s'", m->path);
	}
	*count += 1;
	if (!S_ISDIR(status.st_mode) || !(m->flags & AGENT_PATH_RECURSIVE)) {
		int flags = S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0;

		if (unlinkat(spot->folder, spot->name, flags) == 0)
			return 0;
		if (errno == ENOTEMPTY)
			return FAIL(err, ERROR_CONFLICT, "folder '%s' is not empty", m->path);
		return FAIL_ERRNO(err, "remove '%s'", m->path);
	}
	return remove_tree(spot, m->path, count, err);
}

int files_remove(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(base_dir_done) struct base_dir place = {0};
	AUTO(spot_done) struct spot spot = {.folder = -1};
	uint64_t count = 0;

	if (base_dir_open(&place, &f->rules, m, err) < 0)
		return -1;
	if (spot_open(&place, &f->arena, m->path, 0, &spot, err) < 0) {
		if (err->sys_errno != ENOENT || !(m->flags & AGENT_PATH_MAY_EXIST))
			return -1;
	} else if (remove_spot(&spot, m, &count, err) < 0) {
		return -1;
	}
	files_send_done(f, count);
	return 1;
}

int files_rename(struct files *f, const struct agent_path *m, struct error *err)
{
	unsigned flags = m->flags & AGENT_PATH_NO_REPLACE ? RENAME_NOREPLACE : 0;
	AUTO(base_dir_done) struct base_dir place = {0};
	AUTO(spot_done) struct spot from = {.folder = -1}, to = {.folder = -1};

	if (base_dir_open(&place, &f->rules, m, err) < 0 ||
	    spot_open(&place, &f->arena, m->path, 0, &from, err) < 0 ||
	    spot_open(&place, &f->arena, m->target, files_parents_flag(m), &to, err) < 0)
		return -1;
	if (renameat2(from.folder, from.name, to.folder, to.name, flags) < 0) {
		if (errno == EEXIST || errno == ENOTEMPTY || errno == EISDIR || errno == ENOTDIR)
			return FAIL(err, ERROR_CONFLICT, "'%s' exists", m->target);
		if (errno == EXDEV)
			return FAIL(err, ERROR_UNSUPPORTED,
			            "'%s' and '%s' are on different filesystems", m->path,
			            m->target);
		return FAIL_ERRNO(err, "rename '%s' to '%s'", m->path, m->target);
	}
	return send_spot(f, &to, m->target, err);
}
