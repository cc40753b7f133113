/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/backup.h — what the other files of this folder need of backup.c. Private to it. */
#pragma once

#include "fleet/backups.h"
#include "fleet/parts.h"

/* What packing and unpacking find. Texts in the arena. */
struct backup_found {
	const char *sha256, *template_digest;
	int64_t size, entries, bytes;
	bool is_full;
	const struct json_value *snapshot; /* of the manifest: a stranger's words */
};

/* ERROR_UNSUPPORTED where there are no snapshots or no blob store. */
MUST_CHECK int backup_check(const struct fleet *f, struct error *err);

/* Its blob, before there is anything to write: where there is no room it fails here. */
MUST_CHECK int backup_open(struct fleet *f, struct arena *a, const char *id,
                           struct blob_writer **ret, struct error *err);
/* From a row in MAKING to one that is READY with its blob; else nothing is stored, and the row is
 * the caller's to end. The writer is gone either way. */
struct backup_source {
	const struct snapshot_record *snapshot;
	struct blob_writer *writer;
};
MUST_CHECK int backup_store(struct fleet *f, struct arena *a, struct backup_record *r,
                            const struct backup_source *source, struct error *err);
/* The provider gets a snapshot of this id; `folder` "": on whatever template. */
struct backup_fetch {
	const struct backup_record *backup;
	const char *snapshot_id, *folder;
};
MUST_CHECK int backup_fetch(struct fleet *f, struct arena *a, const struct backup_fetch *u,
                            struct error *err);
/* Where a backup is unpacked: on the template that was asked for or that it was made on, and a full
 * one, should that not be here, on one that is made of it. */
struct backup_base {
	struct template_record record;
	bool is_made; /* just now; the caller removes it when nothing comes of the import */
	/* Only its name is that of the backup's: when its files are not (ERROR_CONFLICT), the next
	 * call is to make one. */
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
/* Its blob, then its row. */
MUST_CHECK int backup_drop(struct fleet *f, const char *id, struct error *err);
/* What a server that went away left half done. */
MUST_CHECK int backups_reconcile(struct fleet *f, struct error *err);
