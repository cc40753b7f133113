/* SPDX-License-Identifier: Apache-2.0 */
/* broker/volume/disk_quota.h — which kind of disk limit this host enforces. */
#pragma once

#include "base/error.h"

struct host;

/* Sets what the option disk_quota amounts to on this host. ERROR_UNSUPPORTED when the option names
 * a kind that this host lacks. */
MUST_CHECK int disk_quota_open(struct host *host, struct error *err);
/* "project", "image", "watch" or "off": what keeps a sandbox from filling the disk. */
const char *disk_quota_name(const struct host *host);
