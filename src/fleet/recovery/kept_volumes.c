/* SPDX-License-Identifier: Apache-2.0 */
/* DATA/pairing/kept-ID: which volumes a sandbox in the trash had. Rows of mounts go when another
 * sandbox takes the volume, and within a minute; the volume and its name may go as well. */
#include <stdio.h>

#include "fleet/core/fleet_state.h"
#include "fleet/recovery/notes.h"
#include "fleet/recovery/pairing_state.h"
#include "fleet/recovery/trash_parts.h"
#include "json/json.h"
#include "json/write.h"
#include "store/sandbox_record.h"

static void add_mount(struct buf *out, const struct mount_record *m)
{
	note_begin(out);
	note_add_text(out, "volume_id", m->volume_id);
	note_add_text(out, "volume", m->volume_name);
	note_add_text(out, "path", m->path);
	note_add_text(out, "subpath", m->subpath);
	json_add_whole(out, "is_read_only", m->is_read_only);
	json_end_object(out);
}

static int write_mounts(struct fleet *f, const char *id, const struct mount_list *mounts,
                        struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(NOTE_MAX);
	char name[NOTE_NAME_SIZE];

	note_begin(&text);
	json_begin_list(&text, "mounts");
	for (size_t i = 0; i < mounts->count; i++)
		add_mount(&text, &mounts->items[i]);
	json_end_list(&text);
	buf_add_text(&text, "}\n");
	(void)snprintf(name, sizeof(name), NOTE_KEPT "-%s", id);
	return note_write(f, name, &text, err);
}

/* Of a delete that was interrupted as well: the rows of mounts are there until it is over. */
void kept_volumes_note(struct fleet *f, const char *id)
{
	AUTO(arena_done) struct arena arena = {0};
	struct mount_list mounts;
	struct error err = {0};

	if (!f->pairing->is_open)
		return;
	if (store_mounts_of_sandbox(f->store, &arena, id, &mounts, &err) == 0) {
		if (mounts.count == 0) {
			note_drop_of(f, NOTE_KEPT, id);
			return;
		}
		if (write_mounts(f, id, &mounts, &err) == 0)
			return;
	}
	log_warning("an undelete would not know the volumes of this sandbox", TEXT("sandbox", id),
	            FAILURE(&err));
}

static struct mount_record mount_of(const struct json_value *note, const char *sandbox_id)
{
	return (struct mount_record){.sandbox_id = sandbox_id,
	                             .volume_id = note_text(note, "volume_id"),
	                             .volume_name = note_text(note, "volume"),
	                             .path = note_text(note, "path"),
	                             .subpath = note_text(note, "subpath"),
	                             .is_read_only = note_whole(note, "is_read_only") != 0,
	                             .created_at = clock_unix_ms()};
}

/* Why the volume cannot be attached again, or NULL. */
static const char *find_obstacle(struct fleet *f, struct arena *a, const struct mount_record *m,
                                 const char *project_id)
{
	struct volume_record volume;
	struct mount_list holders;
	struct error err = {0};

	if (store_volume_find(f->store, a, project_id, m->volume_id, &volume, &err) < 0 ||
	    volume.state != VOLUME_READY)
		return err.code == ERROR_NONE || err.code == ERROR_NOT_FOUND ? "was deleted"
		                                                             : "is not known";
	if (store_mounts_of_volume(f->store, a, m->volume_id, &holders, &err) < 0)
		return "is not known";
	for (size_t i = 0; i < holders.count; i++)
		if (!holders.items[i].is_read_only || !m->is_read_only)
			return arena_format(a, "is attached to '%s'",
			                    holders.items[i].sandbox_name);
	return NULL;
}

bool kept_volumes_find(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                       struct kept_volumes *ret)
{
	const char *name = arena_format(a, NOTE_KEPT "-%s", r->id), *lost = "";
	const struct json_value *note, *mounts;
	struct error err = {0};

	if (!f->pairing->is_open)
		return false;
	if (note_read(f, a, name, &note, &err) < 0) {
		if (err.code != ERROR_NOT_FOUND)
			log_warning("the volumes of a deleted sandbox are not known",
			            TEXT("sandbox", r->id), FAILURE(&err));
		return false;
	}
	mounts = json_get(note, "mounts");
	ret->mounts.items = ARENA_ARRAY(a, struct mount_record, json_count(mounts) + 1);
	ret->mounts.count = 0;
	for (size_t i = 0; i < json_count(mounts); i++) {
		struct mount_record m = mount_of(json_item_at(mounts, i), r->id);
		const char *why = find_obstacle(f, a, &m, r->project_id);

		if (!why)
			ret->mounts.items[ret->mounts.count++] = m;
		else
			lost = arena_format(a, "%s%s volume '%s', which %s", lost,
			                    *lost ? " and" : ", without", m.volume_name, why);
	}
	ret->lost = lost;
	return true;
}
