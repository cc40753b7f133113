/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/backup/backup.h — backups between snapshots and blobs. */
#pragma once

#include "blob/blob.h"
#include "store/templates.h"

struct backup_record;
struct fleet;
struct fleet_backup_import;
struct json_value;
struct snapshot_record;

/* The results of packing and unpacking. Texts in the arena. */
struct backup_found {
	const char *sha256, *template_digest;
	int64_t size, entries, bytes;
	bool is_full;
	const struct json_value *snapshot; /* of the manifest: untrusted */
};

/* ERROR_UNSUPPORTED without snapshots or without a blob store. */
MUST_CHECK int backup_check(const struct fleet *f, struct error *err);

/* Gives a new backup its id, name (its id unless given), server and time; copies its texts. */
void backup_begin(const struct fleet *f, struct arena *a, struct backup_record *r);
/* Opens the blob before there is anything to write: fails early where there is no room. */
MUST_CHECK int backup_open(struct fleet *f, struct arena *a, const char *id,
                           struct blob_writer **ret, struct error *err);
/* Moves a row from MAKING to READY and records its blob. If it fails nothing is stored, and
 * the caller ends the row. Consumes the writer in both cases. */
struct backup_source {
	const struct snapshot_record *snapshot;
	struct blob_writer *writer;
};
MUST_CHECK int backup_store(struct fleet *f, struct arena *a, struct backup_record *r,
                            const struct backup_source *source, struct error *err);
/* Unpacks a backup into a snapshot of the provider with this id. `folder`: the root filesystem that
 * it must lie on; "" = any. */
struct backup_fetch {
	const struct backup_record *backup;
	const char *snapshot_id, *folder;
};
MUST_CHECK int backup_fetch(struct fleet *f, struct arena *a, const struct backup_fetch *u,
                            struct error *err);
/* The template that a backup is unpacked on: the requested one, or the one it was made on. If that
 * is not here, a full backup makes its own. */
struct backup_base {
	struct template_record record;
	bool is_made; /* just now; the caller removes it if the import fails */
	/* Only the name is that of the backup. If the files differ (ERROR_CONFLICT), the caller
	 * goes on with backup_base_make. */
	bool is_guess;
};
MUST_CHECK int backup_base_find(struct fleet *f, struct arena *a,
                                const struct fleet_backup_import *request,
                                const struct backup_record *b, struct backup_base *ret,
                                struct error *err);
MUST_CHECK int backup_base_make(struct fleet *f, struct arena *a,
                                const struct fleet_backup_import *request,
                                const struct backup_record *b, struct backup_base *ret,
                                struct error *err);
/* Deletes the blob, then the row. */
MUST_CHECK int backup_drop(struct fleet *f, const char *id, struct error *err);
/* Finishes or fails backups that a server left half done. At boot. */
MUST_CHECK int backups_reconcile(struct fleet *f, struct error *err);
