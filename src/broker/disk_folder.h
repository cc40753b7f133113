/* SPDX-License-Identifier: Apache-2.0 */
/* broker/disk_folder.h — disk limits by quotas of the data folder's filesystem. Private to this
 * folder.
 *
 * A folder with upper and work gets a project of its own when it is made
 * (isolation/project_quota.h), and limits when a sandbox writes to it: so a prewarmed sandbox is
 * limited once its size is known, a snapshot's folder grows no more, and the folder that a sandbox
 * goes on with after a snapshot has the whole limit again, as the watch counts it (disk_watch.h).
 * Without such quotas these calls do nothing. */
#pragma once

#include "broker/host.h"

struct sandbox;

/* What the option disk_quota comes to on this host: ERROR_UNSUPPORTED when it names what is not
 * there.
 */
MUST_CHECK int disk_quota_open(struct host *host, struct error *err);
/* "project", "image", "watch" or "off": what keeps a sandbox from filling the disk. */
const char *disk_quota_name(const struct host *host);
/* An empty folder that was just made. */
MUST_CHECK int disk_folder_begin(const struct host *host, enum host_folder which, const char *name,
                                 struct error *err);
/* The folder that a sandbox is about to write to: 1 = it is limited, 0 = nothing limits it (no
 * quotas, or it is from a time without them). */
MUST_CHECK int disk_folder_limit(const struct sandbox *sandbox, enum host_folder which,
                                 const char *name, struct error *err);
/* It is about to be deleted, or rests: its project has no limits any more, and none are left over.
 */
void disk_folder_release(const struct host *host, enum host_folder which, const char *name);
