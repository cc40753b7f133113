/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/path.h"

#define FILE_SIZE_MAX (64 * 1024)

int file_read(int folder, const char *path, struct buf *out, struct error *err)
{
	AUTO_CLOSE int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	if (out->size_max == 0)
		out->size_max = FILE_SIZE_MAX;
	if (fd_read_to_end(fd, out, err) < 0)
		return FAIL_CONTEXT(err, "read '%s'", path);
	return 0;
}

/* The temporary name of the file: in the same folder, hidden. */
static int temporary_name(const char *path, char out[PATH_SIZE_MAX], struct error *err)
{
	size_t folder_size = (size_t)(path_last(path) - path);
	struct id id = id_new();
	int size = snprintf(out, PATH_SIZE_MAX, "%.*s.%s.new", (int)folder_size, path, id.text);

	if (size >= PATH_SIZE_MAX)
		return FAIL(err, ERROR_INVALID, "path is longer than %d bytes", PATH_SIZE_MAX - 1);
	return 0;
}

static int write_and_sync(int folder, const char *path, struct span data, mode_t mode,
                          struct error *err)
{
	AUTO_CLOSE int fd =
	        openat(folder, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	if (fd < 0)
		return FAIL_ERRNO(err, "create '%s'", path);
	/* fchmod, because the umask must not change the caller's mode. */
	if (fchmod(fd, mode) < 0)
		return FAIL_ERRNO(err, "set the mode of '%s'", path);
	if (fd_write_all(fd, data.data, data.size, err) < 0)
		return FAIL_CONTEXT(err, "write '%s'", path);
	if (fsync(fd) < 0)
		return FAIL_ERRNO(err, "sync '%s'", path);
	return 0;
}

/* The new name is on the disk only after the folder is synced. */
static int sync_folder_of(int folder, const char *path, struct error *err)
{
	char name[PATH_SIZE_MAX];
	size_t size = (size_t)(path_last(path) - path);
	AUTO_CLOSE int fd = -1;

	(void)snprintf(name, sizeof(name), "%.*s", (int)size, path);
	fd = openat(folder, size ? name : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return FAIL_ERRNO(err, "open the folder of '%s'", path);
	if (fsync(fd) < 0 && errno != EINVAL) /* some filesystems have nothing to sync */
		return FAIL_ERRNO(err, "sync the folder of '%s'", path);
	return 0;
}

int file_write(int folder, const char *path, struct span data, mode_t mode, struct error *err)
{
	char temporary[PATH_SIZE_MAX];

	if (temporary_name(path, temporary, err) < 0)
		return -1;
	if (write_and_sync(folder, temporary, data, mode, err) < 0) {
		(void)unlinkat(folder, temporary, 0);
		return -1;
	}
	if (renameat(folder, temporary, folder, path) < 0) {
		(void)FAIL_ERRNO(err, "rename to '%s'", path);
		(void)unlinkat(folder, temporary, 0);
		return -1;
	}
	return sync_folder_of(folder, path, err);
}

int file_poke(int folder, const char *path, const char *text, struct error *err)
{
	AUTO_CLOSE int fd = openat(folder, path, O_WRONLY | O_CLOEXEC);
	size_t size = strlen(text);
	ssize_t wrote;

	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	do
		wrote = write(fd, text, size);
	while (wrote < 0 && errno == EINTR);
	if (wrote < 0)
		return FAIL_ERRNO(err, "write '%s' to '%s'", text, path);
	if ((size_t)wrote != size)
		return FAIL(err, ERROR_SYSTEM, "write '%s' to '%s': only %zd bytes taken", text,
		            path, wrote);
	return 0;
}

DIR *folder_list(int folder)
{
	return folder_list_at(folder, ".");
}

DIR *folder_list_at(int folder, const char *path)
{
	int fd = openat(folder, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list)
		auto_close(&fd);
	return list;
}

void folder_list_done(DIR **list)
{
	if (*list)
		(void)closedir(*list);
}
