/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"

#define PREFIX ".atoll-"

/* Read by a signal handler: `set` is set before the file exists and cleared after it is gone. */
static struct {
	volatile sig_atomic_t set;
	int folder;
	char name[sizeof(PREFIX) + ID_SIZE];
} temporary;

void replacement_abandon(void)
{
	if (temporary.set)
		(void)unlinkat(temporary.folder, temporary.name, 0);
	temporary.set = 0;
}

bool replacement_is_temporary(const char *name)
{
	size_t size = sizeof(PREFIX) - 1;

	return strncmp(name, PREFIX, size) == 0 && id_is_valid(name + size);
}

static int keep_attributes(int fd, const struct spot *spot, const struct stat *old,
                           struct error *err)
{
	if (!S_ISREG(old->st_mode))
		return FAIL(err, ERROR_CONFLICT, "'%s' is not a regular file", spot->name);
	/* A replaced file of another user gets the worker's owner and keeps its mode. */
	if (fchown(fd, old->st_uid, old->st_gid) < 0 && errno != EPERM)
		return FAIL_ERRNO(err, "keep the owner of '%s'", spot->name);
	if (fchmod(fd, old->st_mode & 07777) < 0)
		return FAIL_ERRNO(err, "keep the mode of '%s'", spot->name);
	return 0;
}

static int set_attributes(int fd, const struct spot *spot,
                          const struct replacement_options *options, struct error *err)
{
	struct stat old;

	if (fstatat(spot->folder, spot->name, &old, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(old.st_mode))
			return FAIL(err, ERROR_CONFLICT, "'%s' is a folder", spot->name);
		if (options->no_replace)
			return FAIL(err, ERROR_CONFLICT, "'%s' exists", spot->name);
		if (options->keep)
			return keep_attributes(fd, spot, &old, err);
	}
	return fchmod(fd, options->mode) < 0 ? FAIL_ERRNO(err, "set the mode of '%s'", spot->name)
	                                     : 0;
}

int replacement_open(struct replacement *r, const struct spot *spot,
                     const struct replacement_options *options, struct error *err)
{
	struct id id = id_new();

	(void)snprintf(temporary.name, sizeof(temporary.name), PREFIX "%s", id.text);
	temporary.folder = spot->folder;
	temporary.set = 1;
	*r = (struct replacement){.spot = spot};
	r->fd = openat(spot->folder, temporary.name,
	               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (r->fd < 0) {
		temporary.set = 0;
		return FAIL_ERRNO(err, "write into the folder of '%s'", spot->name);
	}
	r->open = true;
	if (set_attributes(r->fd, spot, options, err) < 0) {
		replacement_done(r);
		return -1;
	}
	return 0;
}

int replacement_commit(struct replacement *r, const struct replacement_options *options,
                       struct error *err)
{
	unsigned flags = options->no_replace ? RENAME_NOREPLACE : 0;

	if (renameat2(r->spot->folder, temporary.name, r->spot->folder, r->spot->name, flags) < 0)
		return FAIL_ERRNO(err, "replace '%s'", r->spot->name);
	temporary.set = 0;
	return 0;
}

const char *replacement_exchange(struct replacement *r, struct error *err)
{
	int folder = r->spot->folder;

	/* A kill between these steps leaves a temporary file. */
	temporary.set = 0;
	if (renameat2(folder, temporary.name, folder, r->spot->name, RENAME_EXCHANGE) == 0)
		return temporary.name;
	temporary.set = 1;
	if (errno == EINVAL || errno == ENOSYS)
		(void)FAIL(err, ERROR_UNSUPPORTED, "files cannot be exchanged here");
	else
		(void)FAIL_ERRNO(err, "replace '%s'", r->spot->name);
	return NULL;
}

void replacement_done(struct replacement *r)
{
	if (!r->open)
		return;
	replacement_abandon();
	(void)close(r->fd);
	r->open = false;
}
