/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/volume/disk_quota.h"

#include "base/log.h"
#include "broker/host/disk_folder.h"
#include "broker/host/options.h"
#include "broker/volume/image.h"

static int require_image(struct host *host, struct error *err)
{
	host->can_limit_disk = image_is_possible();
	if (host->can_limit_disk)
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "disk_quota image: this host has no mkfs.ext4 or no /dev/loop-control");
	return FAIL_HINT(err,
	                 "install e2fsprogs and load the module loop; or set disk_quota to auto");
}

static int require_project(struct host *host, struct error *err)
{
	if (disk_folder_probe(host, FOLDER_PREWARMS, err) < 0)
		return FAIL_CONTEXT(err, "disk_quota project");
	host->has_project_quota = true;
	return 0;
}

/* A failure is not an error here. */
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
	enum disk_quota wanted = host->options->disk_quota;

	return open_by[wanted] ? open_by[wanted](host, err) : 0;
}

const char *disk_quota_name(const struct host *host)
{
	if (host->has_project_quota)
		return "project";
	if (host->can_limit_disk)
		return "image";
	return host->options->disk_watch ? "watch" : "off";
}
