/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/disk_folder.h"

#include <errno.h>
#include <fcntl.h>

#include "base/log.h"
#include "broker/host/launcher.h"
#include "isolation/project_quota.h"

static int open_folder(const struct host *host, enum host_folder which, const char *name,
                       int *ret_fd, struct error *err)
{
	*ret_fd =
	        openat(host->folders[which], name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the folder '%s'", name) : 0;
}

static int ask_quota(const struct host *host, int folder, const struct launch_quota *request,
                     struct error *err)
{
	return launcher_call(host, LAUNCH_QUOTA, request,
	                     &(struct wire_fds){.fds = {folder}, .count = 1}, NULL, err);
}

int disk_folder_probe(const struct host *host, enum host_folder which, struct error *err)
{
	return ask_quota(host, host->folders[which],
	                 &(struct launch_quota){.verb = LAUNCH_QUOTA_PROBE}, err);
}

int disk_folder_begin(const struct host *host, enum host_folder which, const char *name,
                      struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (!host->has_project_quota)
		return 0;
	return open_folder(host, which, name, &fd, err) < 0
	               ? -1
	               : ask_quota(host, fd, &(struct launch_quota){.verb = LAUNCH_QUOTA_BEGIN},
	                           err);
}

int disk_folder_limit(const struct host *host, enum host_folder which, const char *name,
                      const struct project_amount *most, struct error *err)
{
	const struct launch_quota request = {
	        .verb = LAUNCH_QUOTA_LIMIT, .bytes = most->bytes, .inodes = most->inodes};
	AUTO_CLOSE int fd = -1;

	if (!host->has_project_quota)
		return 0;
	if (open_folder(host, which, name, &fd, err) < 0)
		return -1;
	if (ask_quota(host, fd, &request, err) == 0)
		return 1;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

void disk_folder_release(const struct host *host, enum host_folder which, const char *name)
{
	const struct launch_quota none = {.verb = LAUNCH_QUOTA_LIMIT};
	AUTO_CLOSE int fd = -1;
	struct error err = {0};

	if (!host->has_project_quota ||
	    (which != FOLDER_SANDBOXES && which != FOLDER_PREWARMS && which != FOLDER_SNAPSHOTS))
		return;
	/* A folder that is missing or has no project has no limit. */
	if (open_folder(host, which, name, &fd, &err) == 0 &&
	    ask_quota(host, fd, &none, &err) < 0 && err.code != ERROR_NOT_FOUND)
		log_debug("a quota is left over", TEXT("folder", name), FAILURE(&err));
}
