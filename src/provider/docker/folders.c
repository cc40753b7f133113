/* SPDX-License-Identifier: Apache-2.0 */
/* The folders of docker.h. The first provider of kind docker has DATA/docker itself; each further
 * one has DATA/docker/providers/NAME and an id of its own. */
#include "provider/docker/docker.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define NAME_TEXT_MAX 128

static int make_folder(const char *dir, const char *name, char out[PATH_SIZE_MAX],
                       struct error *err)
{
	if ((size_t)snprintf(out, PATH_SIZE_MAX, "%s%s", dir, name) >= PATH_SIZE_MAX)
		return FAIL(err, ERROR_INVALID, "the data folder's path is too long");
	if (mkdir(out, 0700) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make folder '%s'", out);
	return 0;
}

/* The daemon needs an absolute path, also where this process knows a relative one only. */
static int find_path(const char *dir, char **ret, struct error *err)
{
	char link[64], path[PATH_SIZE_MAX];
	AUTO_CLOSE int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t size = fd < 0 ? -1 : readlink(link, path, sizeof(path) - 1);
	if (size < 0)
		return FAIL_ERRNO(err, "find folder '%s'", dir);
	path[size] = '\0';
	*ret = memory_text(path);
	return 0;
}

/* 1: read; 0: there is no such file. */
static int read_text(const char *path, struct buf *out, struct error *err)
{
	if (file_read(AT_FDCWD, path, out, err) == 0)
		return 1;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

static int read_id(const char *dir, char out[ID_SIZE + 1], struct error *err)
{
	char path[PATH_SIZE_MAX];
	AUTO(buf_done) struct buf text = BUF(64);
	struct id id = id_new();

	(void)snprintf(path, sizeof(path), "%.4000s/id", dir);
	int found = read_text(path, &text, err);
	if (found < 0 || (!found && file_write(AT_FDCWD, path, span_of(id.text), 0600, err) < 0))
		return -1;
	if (!found)
		buf_add_text(&text, id.text);
	if (!id_is_valid(buf_text(&text)))
		return FAIL(err, ERROR_INVALID, "'%s' does not hold an id", path);
	memcpy(out, text.data, ID_SIZE + 1);
	return 0;
}

/* Two providers with one folder would take each other's sockets and containers. */
static int lock_folder(struct docker_provider *d, struct error *err)
{
	char path[PATH_SIZE_MAX];

	(void)snprintf(path, sizeof(path), "%.4000s/lock", d->dir);
	d->lock_fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (d->lock_fd < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	if (flock(d->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return FAIL(err, ERROR_CONFLICT, "'%s' is in use by another provider", path);
}

/* A folder of a version that knew one provider of this kind does not say whose containers it has.
 */
static int claim_root(struct docker_provider *d, const char *path, struct error *err)
{
	char id[PATH_SIZE_MAX];

	(void)snprintf(id, sizeof(id), "%.4000s/id", d->root);
	if (d->options.docker->providers > 1 && access(id, F_OK) == 0) {
		(void)FAIL(err, ERROR_CONFLICT,
		           "'%s' does not say which provider has its containers", d->root);
		return FAIL_HINT(err,
		                 "start the server once with that provider alone, or write "
		                 "its name into '%.200s'",
		                 path);
	}
	return file_write(AT_FDCWD, path, span_of(d->name), 0600, err);
}

/* Sets d->dir. */
static int choose_folder(struct docker_provider *d, struct error *err)
{
	AUTO(buf_done) struct buf owner = BUF(NAME_TEXT_MAX);
	char path[PATH_SIZE_MAX], inner[PATH_SIZE_MAX];

	(void)snprintf(path, sizeof(path), "%.4000s/provider", d->root);
	int found = read_text(path, &owner, err);
	if (found < 0 || (!found && claim_root(d, path, err) < 0))
		return -1;
	if (!found || span_is_word(span_trim(buf_span(&owner)), d->name)) {
		d->dir = memory_text(d->root);
		return 0;
	}
	(void)snprintf(inner, sizeof(inner), "/providers/%s", d->name);
	if (make_folder(d->root, "/providers", path, err) < 0 ||
	    make_folder(d->root, inner, path, err) < 0)
		return -1;
	d->dir = memory_text(path);
	return 0;
}

int docker_open_folders(struct docker_provider *d, struct error *err)
{
	char root[PATH_SIZE_MAX], inner[PATH_SIZE_MAX];

	if (make_folder(d->options.data_dir, "/docker", root, err) < 0)
		return -1;
	d->root = memory_text(root);
	if (choose_folder(d, err) < 0 || lock_folder(d, err) < 0 ||
	    make_folder(d->dir, "/claims", inner, err) < 0 ||
	    make_folder(root, "/templates", inner, err) < 0 ||
	    make_folder(d->dir, "/links", inner, err) < 0 ||
	    find_path(inner, &d->links_dir, err) < 0)
		return -1;
	return read_id(root, d->image_owner, err) < 0 ? -1 : read_id(d->dir, d->server, err);
}
