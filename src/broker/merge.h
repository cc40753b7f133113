/* SPDX-License-Identifier: Apache-2.0 */
/* broker/merge.h — several layers as one. Private to this folder.
 *
 * The layers are never changed, so that the new one shares their files: each is another name of the
 * same inode. Nothing but folders is made, and no file is opened, whatever a sandbox put there. */
#pragma once

#include "base/error.h"

struct merge_limits {
	unsigned entries_max, depth_max;
};
/* All that is in the folders `layers` (the topmost first), as overlayfs shows it, into the empty
 * folder `to` of the same filesystem. What hides something below the last layer hides it still. */
MUST_CHECK int merge_layers(const int *layers, unsigned count, int to,
                            const struct merge_limits *limits, struct error *err);
