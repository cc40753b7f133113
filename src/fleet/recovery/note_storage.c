/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of volumes, with the sandboxes that have them, and of snapshots; and leases, which have no
 * notes of their own. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/core/fleet_state.h"
#include "fleet/core/labels.h"
#include "fleet/recovery/notes.h"
#include "fleet/recovery/pairing_state.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/entries.h"
#include "provider/provider.h"
#include "provider/snapshots.h"
#include "provider/volume.h"
#include "store/leases.h"
#include "store/sandboxes.h"
#include "store/snapshots.h"
#include "store/volumes.h"

static void add_mount(struct buf *out, const struct mount_record *m)
{
	note_begin(out);
	note_add_text(out, "sandbox_id", m->sandbox_id);
	note_add_text(out, "path", m->path);
	note_add_text(out, "subpath", m->subpath);
	json_add_whole(out, "is_read_only", m->is_read_only);
	json_end_object(out);
}

/* Mounts that are being attached or detached are left to the next note. */
static void add_mounts(struct buf *out, const struct mount_list *mounts)
{
	json_begin_list(out, "mounts");
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->items[i].state == MOUNT_ATTACHED)
			add_mount(out, &mounts->items[i]);
	json_end_list(out);
}

void note_volume(struct fleet *f, const struct volume_record *r)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf text = BUF(NOTE_MAX);
	struct mount_list mounts;
	struct error err = {0};

	if (!f->pairing->is_open || r->state != VOLUME_READY)
		return;
	if (store_mounts_of_volume(f->store, &arena, r->id, &mounts, &err) < 0) {
		log_warning("a recovery would not know this volume", TEXT("volume", r->id),
		            FAILURE(&err));
		return;
	}
	note_begin(&text);
	note_add_text(&text, "id", r->id);
	note_add_text(&text, "name", r->name);
	note_add_text(&text, "project_id", r->project_id);
	note_add_text(&text, "workspace", r->workspace);
	json_add_whole(&text, "size_mb", r->size_mb);
	json_add_whole(&text, "size_is_advisory", r->size_is_advisory);
	json_add_whole(&text, "created_at", r->created_at);
	add_mounts(&text, &mounts);
	buf_add_text(&text, "}\n");
	note_keep(f, arena_format(&arena, "volume-%s", r->id), &text);
}

void note_snapshot(struct fleet *f, const struct snapshot_record *r)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf text = BUF(NOTE_MAX);

	/* A layer is useless without the rows of its build, which are not noted. */
	if (!f->pairing->is_open || r->state != SNAPSHOT_READY || r->kind != SNAPSHOT_TAKEN)
		return;
	note_begin(&text);
	note_add_text(&text, "id", r->id);
	note_add_text(&text, "name", r->name);
	note_add_text(&text, "project_id", r->project_id);
	note_add_text(&text, "sandbox_id", r->sandbox_id);
	note_add_text(&text, "sandbox_name", r->sandbox_name);
	note_add_text(&text, "parent_id", r->parent_id);
	note_add_text(&text, "template_id", r->template_id);
	note_add_text(&text, "template", r->template_name);
	note_add_text(&text, "template_folder",
	              note_template_folder(f, &arena, r->project_id, r->template_id));
	note_add_text(&text, "method", r->method);
	note_add_text(&text, "because", r->because);
	json_add_whole(&text, "depth", r->depth);
	json_add_whole(&text, "frozen_us", r->frozen_us);
	json_add_whole(&text, "created_at", r->created_at);
	buf_add_text(&text, "}\n");
	note_keep(f, arena_format(&arena, "snapshot-%s", r->id), &text);
}

void note_drop_of(struct fleet *f, const char *kind, const char *id)
{
	char name[NOTE_NAME_SIZE];

	(void)snprintf(name, sizeof(name), "%s-%s", kind, id);
	note_drop(f, name);
}

static void make_mount(struct fleet *f, const struct json_value *note, const char *volume_id,
                       struct notes_made *made)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct mount_record m = {.sandbox_id = note_text(note, "sandbox_id"),
	                               .volume_id = volume_id,
	                               .path = note_text(note, "path"),
	                               .subpath = note_text(note, "subpath"),
	                               .is_read_only = note_whole(note, "is_read_only") != 0,
	                               .state = MOUNT_ATTACHED,
	                               .created_at = clock_unix_ms()};
	struct sandbox_record sandbox;
	struct error err = {0};

	/* Its sandbox is gone or was not recovered: no mount. */
	if (store_sandbox_find(f->store, &arena, NULL, m.sandbox_id, &sandbox, &err) < 0)
		return;
	if (store_mounts_insert(f->store, &m, 1, &err) < 0)
		log_warning("a volume is not attached again", TEXT("volume", volume_id),
		            TEXT("sandbox", m.sandbox_id), FAILURE(&err));
	else
		made->mounts++;
}

static int make_volume(struct fleet *f, const char *id, struct notes_made *made, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *note, *mounts;
	int64_t now = clock_unix_ms();
	struct volume_record r;

	if (note_read(f, &arena, arena_format(&arena, "volume-%s", id), &note, err) < 0)
		return -1;
	r = (struct volume_record){.id = id,
	                           .project_id = note_text(note, "project_id"),
	                           .name = note_text(note, "name"),
	                           .provider = f->primary,
	                           .node = f->node,
	                           .size_mb = note_whole(note, "size_mb"),
	                           .size_is_advisory = note_whole(note, "size_is_advisory") != 0,
	                           .workspace = note_text(note, "workspace"),
	                           .state = VOLUME_READY,
	                           .created_at = note_whole(note, "created_at"),
	                           .updated_at = now};
	if (note_ensure_project(f, &arena, r.project_id, err) < 0 ||
	    store_volume_insert(f->store, &r, UINT_MAX, err) < 0)
		return -1;
	log_warning("the row of a volume was made again", TEXT("volume", id), TEXT("name", r.name));
	made->volumes++;
	mounts = json_get(note, "mounts");
	for (size_t i = 0; i < json_count(mounts); i++)
		make_mount(f, json_item_at(mounts, i), id, made);
	return 0;
}

static bool knows_volume(struct fleet *f, const char *id)
{
	AUTO(arena_done) struct arena arena = {0};
	struct volume_record r;
	struct error err = {0};

	return store_volume_find(f->store, &arena, NULL, id, &r, &err) == 0 ||
	       err.code != ERROR_NOT_FOUND;
}

int note_make_volumes(struct fleet *f, struct notes_made *made, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_list list;

	if (!(f->ops->abilities & PROVIDER_CAN_VOLUME))
		return 0;
	if (f->ops->volumes->list(f->provider, &arena, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		struct error problem = {0};

		if (!knows_volume(f, list.entries[i].id) &&
		    make_volume(f, list.entries[i].id, made, &problem) < 0)
			log_warning("a volume is not recovered; its files stay",
			            TEXT("volume", list.entries[i].id), FAILURE(&problem));
	}
	return 0;
}

static int read_snapshot(struct fleet *f, struct arena *a, const char *id,
                         struct snapshot_record *ret, struct error *err)
{
	const struct json_value *note;
	struct note_template t;

	if (note_read(f, a, arena_format(a, "snapshot-%s", id), &note, err) < 0)
		return -1;
	t = (struct note_template){.project_id = note_text(note, "project_id"),
	                           .folder = note_text(note, "template_folder"),
	                           .id = note_text(note, "template_id"),
	                           .name = note_text(note, "template")};
	if (note_ensure_project(f, a, t.project_id, err) < 0 ||
	    note_ensure_template(f, a, &t, err) < 0)
		return -1;
	*ret = (struct snapshot_record){.id = id,
	                                .project_id = t.project_id,
	                                .name = note_text(note, "name"),
	                                .sandbox_id = note_text(note, "sandbox_id"),
	                                .sandbox_name = note_text(note, "sandbox_name"),
	                                .parent_id = note_text(note, "parent_id"),
	                                .template_id = t.id,
	                                .template_name = t.name,
	                                .provider = f->primary,
	                                .node = f->node,
	                                .state = SNAPSHOT_READY,
	                                .method = note_text(note, "method"),
	                                .because = note_text(note, "because"),
	                                .depth = note_whole(note, "depth"),
	                                .frozen_us = note_whole(note, "frozen_us"),
	                                .created_at = note_whole(note, "created_at"),
	                                .kind = SNAPSHOT_TAKEN};
	return 0;
}

bool note_knows_snapshot(struct fleet *f, const char *id)
{
	AUTO(arena_done) struct arena arena = {0};
	struct snapshot_record r;
	struct error err = {0};

	return store_snapshot_find(f->store, &arena, NULL, id, &r, &err) == 0 ||
	       err.code != ERROR_NOT_FOUND;
}

static int compare_ages(const void *a, const void *b)
{
	const struct snapshot_record *x = a, *y = b;

	return x->created_at < y->created_at ? -1 : x->created_at > y->created_at;
}

/* Sorted by age: a sandbox is based on the snapshot that was taken last. */
int note_make_snapshots(struct fleet *f, struct notes_made *made, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct snapshot_record *found;
	struct provider_list list;
	size_t count = 0;

	if (!(f->ops->abilities & PROVIDER_CAN_SNAPSHOT))
		return 0;
	if (f->ops->snapshots->list(f->provider, &arena, &list, err) < 0)
		return -1;
	found = ARENA_ARRAY(&arena, struct snapshot_record, list.count + 1);
	for (size_t i = 0; i < list.count; i++) {
		const char *id = list.entries[i].id;
		struct error problem = {0};

		if (note_knows_snapshot(f, id))
			continue;
		if (read_snapshot(f, &arena, id, &found[count], &problem) == 0)
			count++;
		else
			log_warning("a snapshot is not recovered, and goes to the trash",
			            TEXT("snapshot", id), FAILURE(&problem));
	}
	if (count > 0)
		qsort(found, count, sizeof(*found), compare_ages);
	for (size_t i = 0; i < count; i++) {
		struct error problem = {0};

		if (store_snapshot_insert(f->store, &found[i], UINT_MAX, &problem) < 0 ||
		    store_snapshot_update(f->store, &found[i], false, &problem) < 0)
			log_warning("a snapshot is not recovered, and goes to the trash",
			            TEXT("snapshot", found[i].id), FAILURE(&problem));
		else
			made->snapshots++;
	}
	return 0;
}

/* Its terms are the settings of its sandbox, as for a lease that is older than specifications. */
void note_make_lease(struct fleet *f, const struct sandbox_record *r, struct notes_made *made)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *labels;
	int64_t now = clock_unix_ms();
	struct lease_record lease = {.project_id = r->project_id,
	                             .sandbox_id = r->id,
	                             .status = LEASE_READY,
	                             .created_at = now,
	                             .creating_since = now,
	                             .last_activity_at = now,
	                             .run = "",
	                             .spec_json = "",
	                             .env_json = ""};
	struct error err = {0};

	if (json_load(&arena, span_of(r->labels_json ? r->labels_json : ""), &labels, &err) < 0)
		return;
	lease.key = json_text(json_get(labels, LEASE_LABEL), NULL);
	if (!lease.key)
		return;
	lease.name = arena_format(&arena, "%s/%s", lease.project_id, lease.key);
	if (store_lease_insert(f->store, &lease, &err) == 0)
		made->leases++;
	else if (err.code != ERROR_CONFLICT)
		log_warning("a lease is not recovered", TEXT("lease", lease.key), FAILURE(&err));
}
