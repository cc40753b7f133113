/* SPDX-License-Identifier: Apache-2.0 */
/* image/tree.h — whole folders on the host that no other process changes meanwhile. Symbolic links
 * are never followed, other filesystems never entered. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Removes everything below `path`, and with `also_itself` the folder, too. Does nothing when it is
 * missing. */
MUST_CHECK int tree_remove(const char *path, bool also_itself, struct error *err);
/* Bytes that its files take on disk. Files that change meanwhile are counted as they are found. */
MUST_CHECK int tree_size(const char *path, int64_t *ret_bytes, struct error *err);
/* Removes the attributes that tell overlayfs what layers mean: an archive must not set them. */
MUST_CHECK int tree_strip_attributes(const char *path, struct error *err);
