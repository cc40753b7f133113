/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/backups.h — snapshots as files of the blob store: exported, imported, brought and fetched.
 * Part of the fleet: the rules of fleet.h hold. */
#pragma once

#include "fleet/snapshots.h"
#include "store/backups.h"

/* Of one file, unpacked; of a full one, as much as a template may have. */
#define FLEET_BACKUP_BYTES_MAX (INT64_C(64) << 30)
#define FLEET_FULL_BACKUP_BYTES_MAX (INT64_C(32) << 30)
#define FLEET_BACKUPS_MAX 1000 /* of a project */
/* Packed or unpacked at once. */
#define FLEET_BACKUPS_AT_ONCE 2

/* Packs it on a worker; the answer is a row in MAKING. ERROR_UNSUPPORTED for a full one of the
 * template "host", which is the machine itself. */
struct fleet_backup_export {
	struct fleet_ref snapshot;
	const char *name; /* NULL = its id */
	bool full;        /* with its template */
};
MUST_CHECK int fleet_backup_export(struct fleet *fleet, struct arena *a,
                                   const struct fleet_backup_export *request,
                                   struct backup_record *ret, struct error *err);
/* Takes a snapshot and begins its export: both or neither. What may stand against the export is
 * found before anything stands still. */
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
	const char *name;   /* of the snapshot; NULL = its id */
	/* That has the same files; NULL = what it was made on. One that is not here is made of a
	 * full backup. */
	const char *template;
	const struct fleet_awaited *awaited; /* as in fleet_ref */
};
/* Unpacks it, in the lane of backups: returns when the snapshot is ready, or when nothing is left
 * of it. */
MUST_CHECK int fleet_backup_import(struct fleet *fleet, struct arena *a,
                                   const struct fleet_backup_import *request,
                                   struct snapshot_record *ret, struct error *err);

MUST_CHECK int fleet_backup_find(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                 struct backup_record *ret, struct error *err);
/* One that is being made is given up. Fine on one that is being removed. */
MUST_CHECK int fleet_backup_remove(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *ref, struct error *err);
/* A pipe that its bytes come from. The range is cut at its end. */
struct fleet_backup_content {
	int64_t offset, size; /* size -1 = to the end */
	int fd;
	struct backup_record record;
};
MUST_CHECK int fleet_backup_open(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                 struct fleet_backup_content *content, struct error *err);

/* The name of its blob in the blob store. */
const char *fleet_backup_blob(struct arena *a, const char *id);

/* From STOPPED to ARCHIVED: its files go to the blob store, and a start brings them back. Fine on
 * one that is archived. */
MUST_CHECK int fleet_archive(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                             struct sandbox_record *ret, struct error *err);

/* A file that somebody brings: begun, written to `fd` and ended, on one thread or another. */
struct fleet_upload {
	struct fleet *fleet;
	struct blob_writer *writer;
	struct backup_record record;
	const char *sha256; /* that it must have; NULL = any */
	int fd;
	int64_t size, told; /* bytes so far; when they were last compared with what the project may
	                       have */
};
/* So many bytes more are about to be written to `fd`: ERROR_TOO_LARGE, or ERROR_LIMIT when the
 * project has no room for them. */
MUST_CHECK int fleet_upload_add(struct fleet_upload *upload, int64_t size, struct error *err);
MUST_CHECK int fleet_upload_begin(struct fleet *fleet, struct arena *a, const char *project_id,
                                  const char *name, struct fleet_upload *ret, struct error *err);
/* All has been written: reads it whole, and refuses what is no backup. */
MUST_CHECK int fleet_upload_end(struct fleet_upload *upload, struct arena *a,
                                struct backup_record *ret, struct error *err);
/* Nothing is left of it. Fine on one that has ended. */
void fleet_upload_abort(struct fleet_upload *upload);
