/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/copies.h — two copies of one data folder do not run at once on a host. Private to this
 * folder.
 *
 * Both have the same node.id: whoever runs holds the lock /run/atoll/nodes/NODE. Of other hosts on
 * the same database fleet/pairing.h tells. */
#pragma once

#include "base/error.h"
#include "base/id.h"

/* ERROR_CONFLICT names the other folder. The lock is held as long as *ret_fd is open. */
MUST_CHECK int copies_lock(const char *data_dir, const struct id *node, int *ret_fd,
                           struct error *err);
