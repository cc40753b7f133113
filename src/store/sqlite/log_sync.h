/* SPDX-License-Identifier: Apache-2.0 */
/* store/sqlite/log_sync.h — brings SQLite's log to the disk, beside the writer.
 *
 * A commit only writes to the log (see log_file.h); it is durable after the next sync of the log.
 * The sync is done here and not within SQLite's commit, so that no caller waits for the disk while
 * it holds the only writing connection, commits share a sync, and the sync runs while a caller
 * waits for something else.
 *
 * After a failed sync the content of the disk is unknown, and the kernel reports the failure only
 * once. So every wait fails from then on, until the server is restarted. Any thread may call. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct log_sync;

/* `path` is the log's; it must exist. */
MUST_CHECK int log_sync_open(const char *path, struct log_sync **ret, struct error *err);
void log_sync_close(struct log_sync *log); /* NULL is fine */
/* A mark for everything written to the log until now; never 0. */
uint64_t log_sync_mark(struct log_sync *log);
/* The same, and starts a sync on another thread. */
uint64_t log_sync_begin(struct log_sync *log);
/* Waits until the writes before the mark are on the disk. */
MUST_CHECK int log_sync_wait(struct log_sync *log, uint64_t mark, struct error *err);
