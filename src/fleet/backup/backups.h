/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/backup/backups.h — snapshots as files of the blob store: export, import, upload and
 * download. The rules of fleet.h apply. */
#pragma once

#include "base/error.h"
#include "fleet/core/sandboxes.h"
#include "fleet/snapshot/snapshots.h"
#include "store/backups.h"
#include "store/snapshots.h"

struct arena;
struct blob_writer;
struct error;
struct fleet;
struct fleet_awaited;

/* Of one backup, unpacked; of a full one, the size that a template may have. */
#define FLEET_BACKUP_BYTES_MAX (INT64_C(64) << 30)
#define FLEET_FULL_BACKUP_BYTES_MAX (INT64_C(32) << 30)
#define FLEET_BACKUPS_MAX 1000 /* of a project */

/* Packs the snapshot on a worker; returns a row in MAKING. ERROR_UNSUPPORTED for a full backup of
 * the template "host", which is the machine itself. */
struct fleet_backup_export {
	struct fleet_ref snapshot;
	const char *name; /* NULL: its id */
	bool full;        /* with its template */
};
MUST_CHECK int fleet_backup_export(struct fleet *fleet, struct arena *a,
                                   const struct fleet_backup_export *request,
                                   struct backup_record *ret, struct error *err);
/* Takes a snapshot and begins its export: both or neither. Checks the export before it freezes the
 * sandbox. */
struct fleet_backed_up {
	struct snapshot_record snapshot;
	struct backup_record backup;
};
MUST_CHECK int fleet_snapshot_with_backup(struct fleet *fleet, struct arena *a,
                                          const struct fleet_ref *ref,
                                          const struct fleet_snapshot *request,
                                          struct fleet_backed_up *ret, struct error *err);
struct fleet_backup_import {
	const char *project_id;
	const char *backup; /* name or id */
	const char *name;   /* of the snapshot; NULL: its id */
	/* A template with the same files; NULL: the template of the backed-up sandbox. A full
	 * backup makes it if it is missing. */
	const char *template;
	const struct fleet_awaited *awaited; /* as in fleet_ref */
};
/* Unpacks the backup in the backup lane; returns when the snapshot is ready. If it fails nothing is
 * left. */
MUST_CHECK int fleet_backup_import(struct fleet *fleet, struct arena *a,
                                   const struct fleet_backup_import *request,
                                   struct snapshot_record *ret, struct error *err);

MUST_CHECK int fleet_backup_find(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                 struct backup_record *ret, struct error *err);
/* Aborts a backup that is being made. Succeeds if the backup is being removed. */
MUST_CHECK int fleet_backup_remove(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *ref, struct error *err);
/* Opens a pipe that delivers the bytes. A range beyond the end is shortened. */
struct fleet_backup_content {
	int64_t offset, size; /* size -1 = up to the end */
	int fd;
	struct backup_record record;
};
MUST_CHECK int fleet_backup_open(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                 struct fleet_backup_content *content, struct error *err);

/* The name of the blob in the blob store. */
const char *fleet_backup_blob(struct arena *a, const char *id);

/* An uploaded backup: begin it, write to `fd`, end it; not on two threads at once. */
struct fleet_upload {
	struct fleet *fleet;
	struct blob_writer *writer;
	struct backup_record record;
	const char *sha256; /* required digest; NULL: any */
	int fd;
	int64_t size; /* bytes so far */
	int64_t told; /* size at the last comparison with the limit of the project */
};
/* Call it before `size` more bytes are written to `fd`: ERROR_TOO_LARGE, or ERROR_LIMIT if the
 * project has no room for them. */
MUST_CHECK int fleet_upload_add(struct fleet_upload *upload, int64_t size, struct error *err);
MUST_CHECK int fleet_upload_begin(struct fleet *fleet, struct arena *a, const char *project_id,
                                  const char *name, struct fleet_upload *ret, struct error *err);
/* Call it when all bytes are written: reads them, and refuses a file that is no backup. */
MUST_CHECK int fleet_upload_end(struct fleet_upload *upload, struct arena *a,
                                struct backup_record *ret, struct error *err);
/* Removes what was written. Fine on an upload that has ended. */
void fleet_upload_abort(struct fleet_upload *upload);
