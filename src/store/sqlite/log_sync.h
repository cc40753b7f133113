/* SPDX-License-Identifier: Apache-2.0 */
/* store/sqlite/log_sync.h — brings SQLite's log to the disk, beside the writer.
 *
 * A commit only writes to the log (see log_file.h); it is durable once the log has been
 * synced after it. That is done here and not within SQLite's commit, for then nobody waits for the
 * disk with the only writing connection in his hands, all who have committed meanwhile share one
 * wait, and it can go on while a caller waits for something else.
 *
 * Once a sync has failed, nobody knows what is on the disk, and the kernel does not tell twice:
 * from then on every wait fails, until the server is started again. Any thread may call. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct log_sync;

/* `path` is the log's; it must exist. */
MUST_CHECK int log_sync_open(const char *path, struct log_sync **ret, struct error *err);
void log_sync_close(struct log_sync *log); /* NULL is fine */
/* Stands for all that has been written to the log until now; never 0. */
uint64_t log_sync_mark(struct log_sync *log);
/* The same, and begins to sync it on a thread of its own. */
uint64_t log_sync_begin(struct log_sync *log);
/* Until what the mark stands for is on the disk. */
MUST_CHECK int log_sync_wait(struct log_sync *log, uint64_t mark, struct error *err);
