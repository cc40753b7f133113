/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/copies.h — prevents two copies of one data folder from running at once on a host.
 *
 * Copies have the same node.id. The running server holds a lock on /run/atoll/nodes/NODE and
 * removes that file when it ends; the next server on the host removes the files of killed servers.
 * fleet/recovery/pairing.h detects copies on other hosts with the same database. */
#pragma once

#include "base/error.h"
#include "base/id.h"

/* The folder of the lock files; tests use their own. */
#define COPIES_FOLDER "/run/atoll/nodes"

struct copies_options {
	const char *folder; /* created with its parent if missing */
	const char *data_dir;
	const struct id *node;
};
/* ERROR_CONFLICT names the other folder. The lock lasts until *ret_fd is closed. */
MUST_CHECK int copies_lock(const struct copies_options *o, int *ret_fd, struct error *err);
/* Removes the file while it is still locked, then closes *fd; -1 is allowed. */
void copies_unlock(const struct copies_options *o, int *fd);
