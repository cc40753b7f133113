/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/notes.h — DATA/pairing/NAME: what rows say, for a day on which the rows are lost. Private
 * to this folder.
 *
 * NAME is the id of a sandbox, or "KIND-ID" of a volume, snapshot, project or template, or
 * "kept-ID" (kept_volumes.c). The ticking thread writes notes behind changes, within seconds for
 * sandboxes and a minute for the others; no call waits for one. An environment is in its note as
 * its row has it: sealed. */
#pragma once

#include <stdint.h>

#include "fleet/parts.h"
#include "json/json.h"
#include "store/snapshots.h"
#include "store/volumes.h"

#define NOTE_MAX (256 * 1024)
#define NOTE_NAME_SIZE (ID_SIZE + 16)

/* ---- notes.c ---- */

void note_add_text(struct buf *out, const char *name, const char *value);
void note_add_whole(struct buf *out, const char *name, int64_t value);
/* Begins the text of a note, with its format. */
void note_begin(struct buf *out);
#define NOTE_KEPT "kept"
#define NOTE_PROJECT "project"
#define NOTE_TEMPLATE "template"
MUST_CHECK int note_write(const struct fleet *f, const char *name, const struct buf *text,
                          struct error *err);
/* Of the ticking thread: unless the same text was written last. Logs a failure. */
void note_keep(struct fleet *f, const char *name, struct buf *text);
MUST_CHECK int note_read(struct fleet *f, struct arena *a, const char *name,
                         const struct json_value **ret, struct error *err);
/* The template's folder below DATA/templates; "" when no row knows the template. */
const char *note_template_folder(struct fleet *f, struct arena *a, const char *project_id,
                                 const char *template_id);
const char *note_text(const struct json_value *note, const char *name);
int64_t note_whole(const struct json_value *note, const char *name);

/* ---- note_owners.c ---- */

/* Rows that a row needs: made again with the settings that are noted. */
MUST_CHECK int note_ensure_project(struct fleet *f, struct arena *a, const char *id,
                                   struct error *err);
struct note_template {
	const char *project_id, *folder; /* folder "": not known */
	const char *id, *name;           /* become those of the template that is there */
};
MUST_CHECK int note_ensure_template(struct fleet *f, struct arena *a, struct note_template *t,
                                    struct error *err);

/* ---- note_storage.c ---- */

void note_volume(struct fleet *f, const struct volume_record *r);
void note_snapshot(struct fleet *f, const struct snapshot_record *r);
/* The volume or snapshot is gone for good. */
void note_drop_of(struct fleet *f, const char *kind, const char *id);

struct notes_made {
	unsigned sandboxes, leases, volumes, mounts, snapshots;
};
/* Rows for the volumes and snapshots that the provider has and no row knows, as far as they are
 * noted; after those of sandboxes, which they name. */
MUST_CHECK int note_make_volumes(struct fleet *f, struct notes_made *made, struct error *err);
MUST_CHECK int note_make_snapshots(struct fleet *f, struct notes_made *made, struct error *err);
/* The lease that the labels of a recovered sandbox name. */
void note_make_lease(struct fleet *f, const struct sandbox_record *r, struct notes_made *made);
