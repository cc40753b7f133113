/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "terminal/recording.h"

#define SUFFIX ".cast"
#define PIECE ((size_t)64 * 1024)

static int open_folder(const char *folder)
{
	return open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int spool_create(const char *folder, const struct spool_name *name, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int at = open_folder(folder);

	*ret_fd =
	        at < 0 ? -1 : openat(at, name->text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "make '%s' in '%s'", name->text, folder) : 0;
}

void spool_remove(const char *folder, const struct spool_name *name)
{
	AUTO_CLOSE int at = open_folder(folder);

	if (at >= 0 && unlinkat(at, name->text, 0) < 0 && errno != ENOENT)
		log_warning("a spooled recording is left", TEXT("file", name->text));
}

/* The size up to the last end of a line; 0 if there is none. */
static int find_end(int fd, int64_t *ret, struct error *err)
{
	char piece[4096];
	struct stat status;

	if (fstat(fd, &status) < 0)
		return FAIL_ERRNO(err, "size of a recording");
	*ret = status.st_size < RECORDING_BYTES_MAX ? status.st_size : RECORDING_BYTES_MAX;
	while (*ret > 0) {
		size_t size = *ret < (int64_t)sizeof(piece) ? (size_t)*ret : sizeof(piece);
		ssize_t got = pread(fd, piece, size, *ret - (int64_t)size);
		const char *end;

		if (got != (ssize_t)size)
			return FAIL_ERRNO(err, "read a recording");
		end = memrchr(piece, '\n', size);
		if (end) {
			*ret += end + 1 - (piece + size);
			return 0;
		}
		*ret -= (int64_t)size;
	}
	return 0;
}

static int copy_bytes(int from, int to, int64_t size, struct error *err)
{
	char piece[PIECE];

	for (int64_t at = 0; at < size;) {
		size_t wanted = size - at < (int64_t)PIECE ? (size_t)(size - at) : PIECE;
		ssize_t got = pread(from, piece, wanted, at);

		if (got <= 0)
			return FAIL_ERRNO(err, "read a recording");
		if (fd_write_all(to, piece, (size_t)got, err) < 0)
			return -1;
		at += got;
	}
	return 0;
}

static int put_blob(struct blob_store *blobs, const char *blob, int from, int64_t size,
                    struct error *err)
{
	struct blob_writer *writer;
	int64_t written;

	if (blob_put(blobs, &(struct blob_put){.name = blob, .size_max = RECORDING_BYTES_MAX},
	             &writer, err) < 0) {
		/* A server that ended just after it had published this. */
		if (err->code != ERROR_CONFLICT)
			return -1;
		error_clear(err);
		return 0;
	}
	if (copy_bytes(from, blob_writer_fd(writer), size, err) < 0) {
		blob_abort(writer);
		return -1;
	}
	return blob_commit(writer, &written, err);
}

/* Ignores files with other names in the folder. */
static int blob_name_of(const struct spool_name *name, char ret[BLOB_NAME_MAX], struct error *err)
{
	const char *under = strchr(name->text, '_');
	size_t size = strlen(name->text);

	if (!under || size <= strlen(SUFFIX) ||
	    strcmp(name->text + size - strlen(SUFFIX), SUFFIX) != 0)
		return FAIL(err, ERROR_INVALID, "'%s' is no spooled recording", name->text);
	(void)snprintf(ret, BLOB_NAME_MAX, "recordings/%.*s/%s", (int)(under - name->text),
	               name->text, under + 1);
	return 0;
}

int spool_publish(const char *folder, const struct spool_name *name, struct blob_store *blobs,
                  struct error *err)
{
	AUTO_CLOSE int at = open_folder(folder);
	AUTO_CLOSE int fd = at < 0 ? -1 : openat(at, name->text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char blob[BLOB_NAME_MAX];
	int64_t size;

	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s' in '%s'", name->text, folder);
	if (blob_name_of(name, blob, err) < 0 || find_end(fd, &size, err) < 0 ||
	    (size > 0 && put_blob(blobs, blob, fd, size, err) < 0))
		return -1;
	fault_point("api", "recording-published");
	spool_remove(folder, name);
	return 0;
}

unsigned spool_list(const char *folder, struct spool_name *ret, unsigned max)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	unsigned count = 0;

	while (dir && count < max && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strlen(entry->d_name) < SPOOL_NAME_MAX)
			(void)snprintf(ret[count++].text, SPOOL_NAME_MAX, "%s", entry->d_name);
	if (dir)
		(void)closedir(dir);
	return count;
}
