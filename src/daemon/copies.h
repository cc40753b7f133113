/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/copies.h — two copies of one data folder do not run at once on a host. Private to this
 * folder.
 *
 * Both have the same node.id: the server that runs holds the lock /run/atoll/nodes/NODE. It removes
 * that file at its end; the next server of this host removes what killed servers have left. Of
 * other hosts on the same database fleet/pairing.h tells. */
#pragma once

#include "base/error.h"
#include "base/id.h"

/* The folder of those files; a test has one of its own. */
#define COPIES_FOLDER "/run/atoll/nodes"

struct copies_options {
	const char *folder; /* its parent may be missing, too */
	const char *data_dir;
	const struct id *node;
};
/* ERROR_CONFLICT names the other folder. The lock is held as long as *ret_fd is open. */
MUST_CHECK int copies_lock(const struct copies_options *o, int *ret_fd, struct error *err);
/* Removes the file, while it is locked, and closes *fd; -1 is fine. */
void copies_unlock(const struct copies_options *o, int *fd);
