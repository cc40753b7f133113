/* SPDX-License-Identifier: Apache-2.0 */
/* store/sqlite/reach.h — a database below /proc/self/cwd or /proc/self/fd. Private to this folder.
 *
 * SQLite makes each name absolute and resolves it from the root. A data folder in a home of mode
 * 0700 cannot be reached so by the server's user: it reaches it by an inherited folder, and the
 * name through that folder has to stay as it is. */
#pragma once

#include <stdbool.h>

#include <sqlite3.h>

#include "base/error.h"

#define REACH_PREFIX "/proc/self/"

bool reach_is_needed(const char *path);
/* xFullPathname of a file system that copies the usual one. */
int reach_full_name(sqlite3_vfs *usual, const char *name, int size, char *out);
/* The name of the usual file system with that, for connections that only read. */
MUST_CHECK int reach_file_system(const char **ret, struct error *err);
