/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/spread.h — spreads the folders of sandboxes over the disk.
 *
 * An ext4 without a journal does not reuse an inode that was deleted in the last minutes: it checks
 * the inodes of a block group one by one until it finds another. With some sandboxes made and
 * deleted each second, this search is half of the work of making one. Each group has its own
 * inodes, and new folders below a "top" folder are spread over all groups. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Whether the device has such a filesystem; `sys` is an open /sys. */
bool spread_is_due(int sys, dev_t device);
/* Spreads folders that are made in `folder` from now on. */
MUST_CHECK int spread_folder(int folder, struct error *err);
