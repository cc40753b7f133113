/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/recovery/notes.h — DATA/pairing/NAME: copies of rows in the data folder, from which lost
 * rows can be made again.
 *
 * NAME is the id of a sandbox, "KIND-ID" of a volume, snapshot, project or template, or "kept-ID"
 * (kept_volumes.c). The ticking thread writes a note after its row has changed: within seconds for
 * sandboxes, within a minute for the others; no call waits for that. An environment is in the note
 * as in the row: sealed. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "fleet/recovery/pairing.h"
#include "sandbox/sandbox.h"

struct fleet;
struct json_value;
struct provider_trash_list;
struct sandbox_record;
struct snapshot_record;
struct volume_record;

#define NOTE_MAX (256 * 1024)
#define NOTE_NAME_SIZE (ID_SIZE + 16)
#define NOTE_KEPT "kept"
#define NOTE_PROJECT "project"
#define NOTE_TEMPLATE "template"

/* notes.c */

/* NULL is written as "". */
void note_add_text(struct buf *out, const char *name, const char *value);
/* Begins the text of a note with its format. */
void note_begin(struct buf *out);
MUST_CHECK int note_write(const struct fleet *f, const char *name, const struct buf *text,
                          struct error *err);
/* Writes a note unless it has this text already. Logs a failure. Of the ticking thread. */
void note_keep(struct fleet *f, const char *name, struct buf *text);
MUST_CHECK int note_read(struct fleet *f, struct arena *a, const char *name,
                         const struct json_value **ret, struct error *err);
/* The folder of the template below DATA/templates; "" if no row knows the template. */
const char *note_template_folder(struct fleet *f, struct arena *a, const char *project_id,
                                 const char *template_id);
const char *note_text(const struct json_value *note, const char *name);
int64_t note_whole(const struct json_value *note, const char *name);
struct sandbox_timeouts note_timeouts(const struct json_value *note);
/* Writes the note of the row, unless it is written already. */
void note_row(struct fleet *f, const struct sandbox_record *r);
/* Writes all notes again after the key of sealed texts has changed. */
void notes_check_keys(struct fleet *f);
/* Removes the note of a sandbox that is deleted for good. */
void note_drop(struct fleet *f, const char *id);
/* Removes notes of sandboxes that are neither in the store, nor at the provider, nor in `trash`. Of
 * the ticking thread. */
void notes_sweep(struct fleet *f, const struct provider_trash_list *trash);

/* Counts the rows that were made from notes. */
struct notes_made {
	unsigned sandboxes, leases, volumes, mounts, snapshots;
};
/* Makes a row for a sandbox that only the provider has. Logs what its note does not tell. */
MUST_CHECK int note_make_row(struct fleet *f, const char *id, enum sandbox_state state,
                             struct notes_made *made, struct error *err);

/* note_owners.c */

/* Make the project or template that a row needs, with the noted settings, if it is missing. */
MUST_CHECK int note_ensure_project(struct fleet *f, struct arena *a, const char *id,
                                   struct error *err);
struct note_template {
	const char *project_id, *folder; /* folder "": not known */
	const char *id, *name;           /* set to those of the template that exists */
};
MUST_CHECK int note_ensure_template(struct fleet *f, struct arena *a, struct note_template *t,
                                    struct error *err);

/* Writes the notes of all projects and templates. Each minute. */
void notes_of_owners(struct fleet *f);

/* note_storage.c */

void note_volume(struct fleet *f, const struct volume_record *r);
void note_snapshot(struct fleet *f, const struct snapshot_record *r);
/* Removes the note of a thing that is deleted for good. */
void note_drop_of(struct fleet *f, const char *kind, const char *id);

/* Make rows for volumes and snapshots that only the provider has, if they are noted. Call them
 * after the rows of sandboxes are made, which they name. */
MUST_CHECK int note_make_volumes(struct fleet *f, struct notes_made *made, struct error *err);
MUST_CHECK int note_make_snapshots(struct fleet *f, struct notes_made *made, struct error *err);
/* False only if the store says that it has no row of the snapshot. */
bool note_knows_snapshot(struct fleet *f, const char *id);
/* Makes the lease that the labels of a recovered sandbox name. */
void note_make_lease(struct fleet *f, const struct sandbox_record *r, struct notes_made *made);
