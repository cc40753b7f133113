/* SPDX-License-Identifier: Apache-2.0 */
/* task/merge.h — merges several layers into one.
 *
 * The layers never change, so the new one shares their files: each file gets another name of the
 * same inode. Only folders are made, and no file is opened, whatever a sandbox put there. */
#pragma once

#include "base/error.h"

struct merge_limits {
	unsigned entries_max, depth_max;
};
/* Writes what overlayfs shows of the folders `layers` (the topmost first) into the empty folder
 * `to` of the same filesystem. What hides names below the last layer still hides them. */
MUST_CHECK int merge_layers(const int *layers, unsigned count, int to,
                            const struct merge_limits *limits, struct error *err);
