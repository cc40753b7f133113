/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/disk_folder.h"

#include <errno.h>
#include <fcntl.h>

#include "base/log.h"
#include "isolation/project_quota.h"

/* ---- folders ---- */

static int open_folder(const struct host *host, enum host_folder which, const char *name,
                       int *ret_fd, struct error *err)
{
	*ret_fd =
	        openat(host->folders[which], name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the folder '%s'", name) : 0;
}

int disk_folder_begin(const struct host *host, enum host_folder which, const char *name,
                      struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (!host->has_project_quota)
		return 0;
	return open_folder(host, which, name, &fd, err) < 0 ? -1 : project_quota_begin(fd, err);
}

int disk_folder_limit(const struct host *host, enum host_folder which, const char *name,
                      const struct project_amount *most, struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (!host->has_project_quota)
		return 0;
	if (open_folder(host, which, name, &fd, err) < 0)
		return -1;
	if (project_quota_limit(fd, most, err) == 0)
		return 1;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

void disk_folder_release(const struct host *host, enum host_folder which, const char *name)
{
	const struct project_amount none = {0, 0};
	AUTO_CLOSE int fd = -1;
	struct error err = {0};

	if (!host->has_project_quota ||
	    (which != FOLDER_SANDBOXES && which != FOLDER_PREWARMS && which != FOLDER_SNAPSHOTS))
		return;
	/* A folder that is missing or has no project has no limit. */
	if (open_folder(host, which, name, &fd, &err) == 0 &&
	    project_quota_limit(fd, &none, &err) < 0 && err.code != ERROR_NOT_FOUND)
		log_debug("a quota is left over", TEXT("folder", name), FAILURE(&err));
}
