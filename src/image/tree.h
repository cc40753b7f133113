/* SPDX-License-Identifier: Apache-2.0 */
/* image/tree.h — whole folders on the host that nobody else changes meanwhile. Symbolic links are
 * never followed, other filesystems never entered. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Everything below `path`, and with `also_itself` the folder too. Fine when it is missing. */
MUST_CHECK int tree_remove(const char *path, bool also_itself, struct error *err);
/* Bytes that its files take on disk. What changes while it is counted is counted as it is met. */
MUST_CHECK int tree_size(const char *path, int64_t *ret_bytes, struct error *err);
/* Takes off the attributes by which an overlay mount is told what its layers mean: those are ours
 * to say, not an archive's. */
MUST_CHECK int tree_strip_attributes(const char *path, struct error *err);
