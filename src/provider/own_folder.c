/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/own_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"

int own_folder_make(const char *dir, const char *name, char out[PATH_SIZE_MAX], struct error *err)
{
	if ((size_t)snprintf(out, PATH_SIZE_MAX, "%s%s", dir, name) >= PATH_SIZE_MAX)
		return FAIL(err, ERROR_INVALID, "the data folder's path is too long");
	if (mkdir(out, 0700) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make folder '%s'", out);
	return 0;
}

int own_folder_text(const char *path, struct buf *out, struct error *err)
{
	if (file_read(AT_FDCWD, path, out, err) == 0)
		return 1;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

int own_folder_id(const char *dir, char out[ID_SIZE + 1], struct error *err)
{
	char path[PATH_SIZE_MAX];
	AUTO(buf_done) struct buf text = BUF(64);
	struct id id = id_new();

	(void)snprintf(path, sizeof(path), "%.4000s/id", dir);
	int found = own_folder_text(path, &text, err);
	if (found < 0 || (!found && file_write(AT_FDCWD, path, span_of(id.text), 0600, err) < 0))
		return -1;
	if (!found)
		buf_add_text(&text, id.text);
	if (!id_is_valid(buf_text(&text)))
		return FAIL(err, ERROR_INVALID, "'%s' does not hold an id", path);
	memcpy(out, text.data, ID_SIZE + 1);
	return 0;
}

int own_folder_lock(const char *dir, int *ret_fd, struct error *err)
{
	char path[PATH_SIZE_MAX];

	(void)snprintf(path, sizeof(path), "%.4000s/lock", dir);
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return FAIL(err, ERROR_CONFLICT, "'%s' is in use by another provider", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}
