/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/archive.h — sandboxes whose files are in the blob store. Private to this folder.
 *
 * There is always one whole copy: the files go when the store says ARCHIVED, which is after the
 * blob has come to the disk; the blob goes when the sandbox has been started. */
#pragma once

#include "fleet/backup.h"
#include "sandbox/expiry.h"

/* From STOPPED to ARCHIVED. On a thread of the lane of backups, as the next. */
MUST_CHECK int archive_create(struct operation *op, struct error *err);
/* From ARCHIVED to STARTED, or back. */
MUST_CHECK int archive_restore(struct operation *op, const struct template_record *t,
                               int64_t begun_ns, struct error *err);
/* The key of the archiving of this sandbox, for shared_work.h. */
void archive_key(const char *sandbox_id, char ret[ERROR_AWAITS_MAX]);
/* Whether the files of a sandbox can be brought back. */
bool archive_exists(struct fleet *f, const char *sandbox_id);
/* Its blob and row, if there are any. A failure is only logged: the next start tries again. */
void archive_drop(struct fleet *f, const char *sandbox_id);
/* Whether the blob of a sandbox that archives it is still to be kept. At boot, when all sandboxes
 * are settled. */
bool archive_is_needed(struct fleet *f, const char *project_id, const char *sandbox_id);
