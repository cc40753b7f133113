/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/disk_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "broker/box.h"
#include "broker/disk_watch.h"
#include "broker/image.h"
#include "isolation/project_quota.h"

/* ---- what holds here ---- */

static int require_image(struct host *host, struct error *err)
{
	host->can_limit_disk = image_is_possible();
	if (host->can_limit_disk)
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "disk_quota image: this host has no mkfs.ext4 or no /dev/loop-control");
	error_hint(err, "install e2fsprogs and load the module loop; or set disk_quota to auto");
	return -1;
}

static int require_project(struct host *host, struct error *err)
{
	if (project_quota_probe(host->folders[FOLDER_PREWARMS], err) < 0)
		return FAIL_CONTEXT(err, "disk_quota project");
	host->has_project_quota = true;
	return 0;
}

/* What does not work is fine. */
static int try_image(struct host *host, struct error *err)
{
	if (require_image(host, err) < 0)
		log_warning("disk limits need mkfs.ext4 and loop devices, going on without");
	error_clear(err);
	return 0;
}

static int try_project(struct host *host, struct error *err)
{
	if (require_project(host, err) < 0)
		log_debug("disk limits are watched", FAILURE(err));
	error_clear(err);
	return 0;
}

int disk_quota_open(struct host *host, struct error *err)
{
	static int (*const open_by[DISK_QUOTA_COUNT])(struct host * host, struct error * err) = {
	        [DISK_QUOTA_ON] = try_image,
	        [DISK_QUOTA_AUTO] = try_project,
	        [DISK_QUOTA_PROJECT] = require_project,
	        [DISK_QUOTA_IMAGE] = require_image,
	};
	enum disk_quota wanted = host->options.disk_quota;

	return open_by[wanted] ? open_by[wanted](host, err) : 0;
}

const char *disk_quota_name(const struct host *host)
{
	if (host->has_project_quota)
		return "project";
	if (host->can_limit_disk)
		return "image";
	return host->options.disk_watch ? "watch" : "off";
}

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

int disk_folder_limit(const struct sandbox *sandbox, enum host_folder which, const char *name,
                      struct error *err)
{
	const struct host *host = sandbox->sandboxes->host;
	const struct disk_amount limit = disk_limit(sandbox->disk_bytes, host->options.disk_inodes);
	const struct project_amount most = {limit.bytes, limit.inodes};
	AUTO_CLOSE int fd = -1;

	if (!host->has_project_quota || sandbox->disk_bytes == 0 || sandbox->kind != BROKER_NATIVE)
		return 0;
	if (open_folder(host, which, name, &fd, err) < 0)
		return -1;
	if (project_quota_limit(fd, &most, err) == 0)
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
	/* What is not there, or has no project, has no limit. */
	if (open_folder(host, which, name, &fd, &err) == 0 &&
	    project_quota_limit(fd, &none, &err) < 0 && err.code != ERROR_NOT_FOUND)
		log_debug("a quota is left over", TEXT("folder", name), FAILURE(&err));
}
