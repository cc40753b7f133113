/* SPDX-License-Identifier: Apache-2.0 */
/* The folders of docker.h. The first provider of kind docker has DATA/docker itself; each further
 * one has DATA/docker/providers/NAME and an id of its own. */
#include "provider/docker/docker.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "provider/own_folder.h"

#define NAME_TEXT_MAX 128

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
	int found = own_folder_text(path, &owner, err);
	if (found < 0 || (!found && claim_root(d, path, err) < 0))
		return -1;
	if (!found || span_is_word(span_trim(buf_span(&owner)), d->name)) {
		d->dir = memory_text(d->root);
		return 0;
	}
	(void)snprintf(inner, sizeof(inner), "/providers/%s", d->name);
	if (own_folder_make(d->root, "/providers", path, err) < 0 ||
	    own_folder_make(d->root, inner, path, err) < 0)
		return -1;
	d->dir = memory_text(path);
	return 0;
}

int docker_open_folders(struct docker_provider *d, struct error *err)
{
	char root[PATH_SIZE_MAX], inner[PATH_SIZE_MAX], claims[PATH_SIZE_MAX];

	if (own_folder_make(d->options.data_dir, "/docker", root, err) < 0)
		return -1;
	d->root = memory_text(root);
	if (choose_folder(d, err) < 0 || own_folder_lock(d->dir, &d->lock_fd, err) < 0 ||
	    own_folder_make(d->dir, "/claims", claims, err) < 0 ||
	    own_folder_make(root, "/templates", inner, err) < 0 ||
	    own_folder_make(d->dir, "/links", inner, err) < 0 ||
	    find_path(inner, &d->links_dir, err) < 0)
		return -1;
	d->claims_dir = memory_text(claims);
	return own_folder_id(root, d->image_owner, err) < 0 ? -1
	                                                    : own_folder_id(d->dir, d->server, err);
}
