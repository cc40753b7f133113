/* SPDX-License-Identifier: Apache-2.0 */
#include "server_backup/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/path.h"
#include "server_backup/options.h"

static const char *default_name(struct arena *a)
{
	char host[65] = "", date[32];
	time_t now = time(NULL);
	struct tm parts;

	(void)gethostname(host, sizeof(host) - 1);
	(void)gmtime_r(&now, &parts);
	(void)strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", &parts);
	return arena_format(a, "atoll-%s-%s.tar.zst", host, date);
}

static const char *folder_of(struct arena *a, const char *path)
{
	const char *last = path_last(path);

	if (last == path)
		return ".";
	return arena_copy(a, (struct span){path, (size_t)(last - path)});
}

/* Without a name where the file system can do that: then even a kill leaves nothing. */
static int open_file(struct arena *a, struct backup_output *o, struct error *err)
{
	o->fd = openat(o->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (o->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		o->partial = arena_format(a, ".%s.partial", path_last(o->path));
		(void)unlinkat(o->folder, o->partial, 0);
		o->fd = openat(o->folder, o->partial,
		               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	return o->fd < 0 ? FAIL_ERRNO(err, "write to the folder of '%s'", o->path) : 0;
}

int backup_output_open(struct arena *a, const char *target, bool force, struct backup_output *ret,
                       struct error *err)
{
	struct backup_output *o = ret;
	struct stat status;
	const char *folder;

	*o = BACKUP_OUTPUT;
	if (stat(target, &status) == 0 && S_ISDIR(status.st_mode))
		o->path = arena_format(a, "%s/%s", target, default_name(a));
	else
		o->path = target;
	folder = folder_of(a, o->path);
	o->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->folder < 0)
		return FAIL_ERRNO(err, "open the folder '%s'", folder);
	if (!force && fstatat(o->folder, path_last(o->path), &status, AT_SYMLINK_NOFOLLOW) == 0) {
		(void)FAIL(err, ERROR_CONFLICT, "'%s' exists", o->path);
		return FAIL_HINT(err, "name another file, or give --force");
	}
	if (backup_output_check_space(o, err) < 0)
		return -1;
	return open_file(a, o, err);
}

int backup_output_check_space(const struct backup_output *o, struct error *err)
{
	struct statvfs space;

	if (fstatvfs(o->folder, &space) < 0)
		return FAIL_ERRNO(err, "look for space in the folder of '%s'", o->path);
	if ((int64_t)space.f_bavail * (int64_t)space.f_frsize >= BACKUP_SPACE_MIN)
		return 0;
	(void)FAIL(err, ERROR_NO_SPACE, "less than %d MiB are left in the folder of '%s'",
	           (int)(BACKUP_SPACE_MIN >> 20), o->path);
	return FAIL_HINT(err, "nothing was written; name a folder on another disk");
}

static int give_name(struct arena *a, const struct backup_output *o, const char *name,
                     struct error *err)
{
	const char *link = arena_format(a, "/proc/self/fd/%d", o->fd);

	if (o->partial)
		return renameat(o->folder, o->partial, o->folder, name) < 0
		               ? FAIL_ERRNO(err, "name '%s'", o->path)
		               : 0;
	return linkat(AT_FDCWD, link, o->folder, name, AT_SYMLINK_FOLLOW) < 0
	               ? FAIL_ERRNO(err, "name '%s'", o->path)
	               : 0;
}

int backup_output_finish(struct arena *a, struct backup_output *o, bool force, struct error *err)
{
	const char *name = path_last(o->path);

	if (fsync(o->fd) < 0)
		return FAIL_ERRNO(err, "write '%s' to the disk", o->path);
	if (force && !o->partial) {
		const char *fresh = arena_format(a, ".%s.new", name);

		(void)unlinkat(o->folder, fresh, 0);
		if (give_name(a, o, fresh, err) < 0)
			return -1;
		o->partial = fresh;
	}
	if (give_name(a, o, name, err) < 0)
		return -1;
	o->partial = NULL;
	return fsync(o->folder) < 0 ? FAIL_ERRNO(err, "write the folder of '%s'", o->path) : 0;
}

void backup_output_close(struct backup_output *o)
{
	if (o->partial && o->folder >= 0)
		(void)unlinkat(o->folder, o->partial, 0);
	auto_close(&o->fd);
	auto_close(&o->folder);
	*o = BACKUP_OUTPUT;
}
