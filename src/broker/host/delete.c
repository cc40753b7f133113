/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "broker/host/disk_folder.h"

/* ---- deleting ---- */

/* `spared`: a name that stays, or NULL. */
static int remove_entries(int fd, const char *spared, struct error *err)
{
	DIR *folder = fdopendir(fd);
	struct dirent *entry;
	int status = 0;

	if (!folder) {
		(void)close(fd);
		return FAIL_ERRNO(err, "list a folder to delete");
	}
	while (status == 0 && (entry = readdir(folder))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    (spared && strcmp(entry->d_name, spared) == 0))
			continue;
		if (entry->d_type != DT_DIR && unlinkat(dirfd(folder), entry->d_name, 0) == 0)
			continue;
		status = host_remove_tree(dirfd(folder), entry->d_name, err);
	}
	(void)closedir(folder);
	return status;
}

/* A sandbox may nest folders deeply. Each level takes one frame and one descriptor here. The
 * descriptors run out first, at about 20,000 levels, with an error. */
int host_remove_tree(int folder, const char *name, struct error *err)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return unlinkat(folder, name, 0) == 0 || errno == ENOENT
		               ? 0
		               : FAIL_ERRNO(err, "delete '%s'", name);
	if (remove_entries(fd, NULL, err) < 0)
		return -1;
	if (unlinkat(folder, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "delete the folder '%s'", name);
	return 0;
}

int host_trash(const struct host *host, enum host_folder folder, const char *name,
               struct error *err)
{
	struct id id = id_new();

	disk_folder_release(host, folder, name);
	if (renameat(host->folders[folder], name, host->folders[FOLDER_TRASH], id.text) < 0 &&
	    errno != ENOENT)
		return FAIL_ERRNO(err, "put '%s' into the trash", name);
	return 0;
}

/* The name in FOLDER_SANDBOXES goes last: as long as it exists, another destroy finds the rest. */
int host_trash_files(const struct host *host, const char *id, struct error *err)
{
	if (host_trash(host, FOLDER_HOST_FILES, id, err) < 0)
		return -1;
	return host_trash(host, FOLDER_SANDBOXES, id, err);
}

void host_empty_trash(const struct host *host)
{
	struct error ignored = {0};
	int fd = openat(host->folders[FOLDER_TRASH], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		(void)!remove_entries(fd, "kept", &ignored);
}
