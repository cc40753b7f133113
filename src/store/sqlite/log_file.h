/* SPDX-License-Identifier: Apache-2.0 */
/* store/sqlite/log_file.h — SQLite's log, written by one call for each commit.
 *
 * SQLite writes each page of a commit and its head separately: more than twenty calls, each of
 * which costs as much as a single large write. This file system, on top of the real one, collects
 * the writes of a COMMIT to the log until SQLite syncs the log. With synchronous = FULL SQLite does
 * that after the last page of a commit and before any reader may see it.
 *
 * Earlier writes, made because the cache is full, are not collected: a later failure would be
 * reported to another statement, and SQLite would not roll back the right changes.
 *
 * The sync of a commit only writes: log_sync.h brings the log to the disk. Syncs of a checkpoint
 * and of the log's head are executed; SQLITE_SYNC_FULL marks them (checkpoint_fullfsync = ON). */
#pragma once

#include <sqlite3.h>

#include "base/error.h"

#define LOG_FILE_PRAGMAS "PRAGMA synchronous = FULL; PRAGMA checkpoint_fullfsync = ON;"

/* The name of the file system for a database's writing connection, which needs the pragmas. */
MUST_CHECK int log_file_system(const char **ret, struct error *err);

/* sqlite3_step() of a COMMIT, on a connection of any file system. A failure fails the whole
 * transaction. */
int log_file_commit(sqlite3_stmt *commit);
