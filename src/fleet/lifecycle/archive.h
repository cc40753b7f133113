/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/archive.h — sandboxes whose files are in the blob store.
 *
 * One whole copy always exists: the files are deleted after the row says ARCHIVED, which follows
 * after the blob is on disk; the blob is deleted after the sandbox has been started. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct fleet;
struct operation;
struct template_record;

/* From STOPPED to ARCHIVED. Call this and archive_restore on a thread of the backup lane. */
MUST_CHECK int archive_create(struct operation *op, struct error *err);
/* From ARCHIVED to STARTED; back to ARCHIVED if it fails. */
MUST_CHECK int archive_restore(struct operation *op, const struct template_record *t,
                               int64_t begun_ns, struct error *err);
/* The key of the archiving of this sandbox, for shared_work.h. */
void archive_key(const char *sandbox_id, char ret[ERROR_AWAITS_MAX]);
/* Whether the files of a sandbox can be restored. */
bool archive_exists(struct fleet *f, const char *sandbox_id);
/* Deletes blob and row, if they exist. A failure is only logged: the next start tries again. */
void archive_drop(struct fleet *f, const char *sandbox_id);
