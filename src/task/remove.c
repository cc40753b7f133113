/* SPDX-License-Identifier: Apache-2.0 */
#include "task/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

int remove_entries(DIR *folder, const char *spared, struct error *err)
{
	struct dirent *entry;
	int status = 0;

	while (status == 0 && (entry = readdir(folder))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    (spared && strcmp(entry->d_name, spared) == 0))
			continue;
		if (entry->d_type != DT_DIR && unlinkat(dirfd(folder), entry->d_name, 0) == 0)
			continue;
		status = remove_tree(dirfd(folder), entry->d_name, err);
	}
	return status;
}

/* A sandbox may nest folders deeply. Each level takes one frame and one descriptor here. The
 * descriptors run out first, at about 20,000 levels, with an error. */
int remove_tree(int folder, const char *name, struct error *err)
{
	AUTO(folder_list_done) DIR *list = folder_list_at(folder, name);

	if (!list && errno == ENOENT)
		return 0;
	if (!list)
		return unlinkat(folder, name, 0) == 0 || errno == ENOENT
		               ? 0
		               : FAIL_ERRNO(err, "delete '%s'", name);
	if (remove_entries(list, NULL, err) < 0)
		return -1;
	if (unlinkat(folder, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "delete the folder '%s'", name);
	return 0;
}
