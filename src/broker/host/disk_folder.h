/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/disk_folder.h — disk limits by project quotas of the data folder's filesystem.
 *
 * A folder with upper and work gets a project when it is made (isolation/project_quota.h), and
 * limits when a sandbox is about to write to it. A snapshot's folder has no limits, because it
 * grows no more; the folder that the sandbox writes to after a snapshot has the whole limit again.
 * Without such quotas these calls do nothing. */
#pragma once

#include "base/error.h"
#include "broker/host/host.h"

struct project_amount;

/* Whether the filesystem of the folder has such quotas and enforces them. ERROR_UNSUPPORTED: no. */
MUST_CHECK int disk_folder_probe(const struct host *host, enum host_folder which,
                                 struct error *err);
/* Gives an empty folder that was just made a project. */
MUST_CHECK int disk_folder_begin(const struct host *host, enum host_folder which, const char *name,
                                 struct error *err);
/* Limits the folder. Returns 1, or 0 when nothing limits it: there are no quotas, or the folder was
 * made without them. */
MUST_CHECK int disk_folder_limit(const struct host *host, enum host_folder which, const char *name,
                                 const struct project_amount *most, struct error *err);
/* Takes the limits away from a folder that is about to be deleted or to become a snapshot. */
void disk_folder_release(const struct host *host, enum host_folder which, const char *name);
