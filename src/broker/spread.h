/* SPDX-License-Identifier: Apache-2.0 */
/* broker/spread.h — where on the disk the folders of sandboxes come to lie. Private to this folder.
 *
 * An ext4 without a journal gives no inode away that was deleted in the last minutes: it looks at
 * one after the other of a group until it finds another. With some sandboxes a second, made and
 * deleted, that look is half of all the work of making one. Every group has its own, and new
 * folders of a "top" folder are spread over all groups, with what is made inside them. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Whether the device has such a filesystem, as `sys`, an open /sys, tells. */
bool spread_is_due(int sys, dev_t device);
/* From now on. */
MUST_CHECK int spread_folder(int folder, struct error *err);
