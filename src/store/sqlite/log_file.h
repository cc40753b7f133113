/* SPDX-License-Identifier: Apache-2.0 */
/* store/sqlite/log_file.h — SQLite's log, written by one call for each commit.
 *
 * SQLite writes every page of a commit by itself, and its head before it: twenty calls and more,
 * each of which costs as much as writing everything at once. This file system, over the real one,
 * collects what a COMMIT writes to the log until SQLite wants it synced, which is what it does
 * (synchronous = FULL) with all of a commit and before any reader may look at it.
 *
 * What is written earlier, since the cache is full, is not held back: a failure that shows later
 * would be another statement's, and SQLite would not take back what it belongs to.
 *
 * Such a sync only writes: log_sync.h brings it to the disk. The others, of a checkpoint and of the
 * log's head, are done. SQLite tells them by SQLITE_SYNC_FULL (checkpoint_fullfsync = ON). */
#pragma once

#include <sqlite3.h>

#include "base/error.h"

#define LOG_FILE_PRAGMAS "PRAGMA synchronous = FULL; PRAGMA checkpoint_fullfsync = ON;"

/* The name of the file system, for the connection that writes: there is one of a database. It
 * needs the pragmas. */
MUST_CHECK int log_file_system(const char **ret, struct error *err);

/* sqlite3_step() of a COMMIT, on a connection of any file system. What fails in there fails all of
 * the transaction. */
int log_file_commit(sqlite3_stmt *commit);
