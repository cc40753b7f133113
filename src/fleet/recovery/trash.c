/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/recovery/trash.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "config/config.h"
#include "fleet/core/cache.h"
#include "fleet/core/operation.h"
#include "fleet/core/sandboxes.h"
#include "fleet/recovery/notes.h"
#include "fleet/recovery/pairing_state.h"
#include "fleet/recovery/trash_parts.h"
#include "provider/entries.h"
#include "provider/snapshots.h"
#include "provider/trash.h"
#include "store/projects.h"
#include "store/sandboxes.h"
#include "store/snapshots.h"
#include "store/templates.h"

#define STOP_MS 2000
#define TRASH_IDS_MAX (16 * 1024 * 1024) /* of half a million entries */
#define NOTES_SWEEP_MS (3600 * INT64_C(1000))

/* The programs inside get their time to write what they have. */
static void stop_orphan(struct provider *p, const char *id, int64_t stop_until)
{
	const struct provider_ops *ops = provider_ops_of(p);
	int64_t left = stop_until - clock_monotonic_ms();
	struct error err = {0};

	if (left <= 0 || !(ops->abilities & PROVIDER_CAN_STOP))
		return;
	if (ops->stop(p, id, left < STOP_MS ? left : STOP_MS, deadline_after(CALL_TIMEOUT_MS),
	              &err) < 0)
		log_warning("an orphan is ended without a stop", TEXT("sandbox", id),
		            FAILURE(&err));
}

static int remove_orphan(struct fleet *f, struct provider *p, struct provider_trash what,
                         struct error *err)
{
	const struct provider_ops *ops = provider_ops_of(p);
	int64_t deadline = deadline_after(CALL_TIMEOUT_MS);

	what.reason = PROVIDER_TRASH_ORPHAN;
	what.keep_ms = f->config->orphans_keep_ms;
	atomic_fetch_add(&f->trash->orphans, 1);
	if (ops->trash)
		return ops->trash->put(p, &what, deadline, err);
	return what.kind == PROVIDER_TRASH_SANDBOX
	               ? ops->destroy(p, what.id, deadline, err)
	               : ops->snapshots->remove(p, what.id, deadline, err);
}

/* The store has no row of it. An entry that names another server is left for the operator. */
void orphan_remove(struct fleet *f, const struct provider_entry *entry, int64_t stop_until)
{
	struct provider *p = provider_member_provider(provider_set_at(f->providers, entry->member));
	const struct provider_trash what = {.kind = PROVIDER_TRASH_SANDBOX, .id = entry->id};
	struct error err = {0};

	if (remains_are_anothers(f, p, entry->owner)) {
		log_warning("an orphan says that it is another server's, and is left",
		            TEXT("sandbox", entry->id), TEXT("owner", entry->owner));
		return;
	}
	log_warning("an orphan goes to the trash: no row of the store knows it",
	            TEXT("sandbox", entry->id), NUMBER("keep_ms", f->config->orphans_keep_ms));
	if (entry->running)
		stop_orphan(p, entry->id, stop_until);
	if (remove_orphan(f, p, what, &err) < 0)
		log_warning("an orphan is left", TEXT("sandbox", entry->id), FAILURE(&err));
}

void orphan_snapshot_remove(struct fleet *f, const char *id)
{
	const struct provider_trash what = {.kind = PROVIDER_TRASH_SNAPSHOT, .id = id};
	struct error err = {0};

	log_warning("an orphan snapshot goes to the trash: no row of the store knows it",
	            TEXT("snapshot", id), NUMBER("keep_ms", f->config->orphans_keep_ms));
	if (remove_orphan(f, f->provider, what, &err) < 0)
		log_warning("an orphan snapshot is left", TEXT("snapshot", id), FAILURE(&err));
}

static int list_trash(struct fleet *f, struct arena *a, struct provider_trash_list *ret,
                      struct error *err)
{
	const struct provider_trash_bounds bounds = {f->config->trash_bytes_max,
	                                             clock_unix_ms() - fleet_retention_ms(f)};

	return f->ops->trash->list(f->provider, &bounds, a, ret, err);
}

void trash_tick(struct fleet *f)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_trash_list list;
	int64_t now = clock_monotonic_ms();
	struct error err = {0};
	uint64_t bytes = 0;

	if (!f->ops->trash)
		return;
	if (list_trash(f, &arena, &list, &err) < 0) {
		log_warning("the trash is not looked at", FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].size_bytes > 0)
			bytes += (uint64_t)list.items[i].size_bytes;
	atomic_store(&f->trash->entries, list.count);
	atomic_store(&f->trash->bytes, bytes);
	if (f->trash->notes_swept_at && now - f->trash->notes_swept_at < NOTES_SWEEP_MS)
		return;
	f->trash->notes_swept_at = now;
	notes_sweep(f, &list);
}

struct fleet_trash_counts fleet_trash_counts_get(const struct fleet *fleet)
{
	return (struct fleet_trash_counts){
	        .orphans = atomic_load(&fleet->trash->orphans),
	        .held = atomic_load(&fleet->trash->held),
	        .entries = atomic_load(&fleet->trash->entries),
	        .bytes = atomic_load(&fleet->trash->bytes),
	};
}

static int restore_sandbox(struct fleet *f, const char *id, struct error *err)
{
	const struct provider_trash what = {.kind = PROVIDER_TRASH_SANDBOX, .id = id};

	if (!f->ops->trash)
		return FAIL(err, ERROR_UNSUPPORTED, "provider '%s' keeps nothing that is deleted",
		            f->primary);
	return f->ops->trash->bring_back(f->provider, &what, deadline_after(CALL_TIMEOUT_MS), err);
}

/* Its row does not come back after all. */
static void return_to_trash(struct fleet *f, const char *id, enum provider_trash_reason reason)
{
	bool is_orphan = reason == PROVIDER_TRASH_ORPHAN;
	const struct provider_trash what = {.kind = PROVIDER_TRASH_SANDBOX,
	                                    .id = id,
	                                    .reason = reason,
	                                    .keep_ms = is_orphan ? f->config->orphans_keep_ms
	                                                         : f->config->deleted_keep_ms};
	struct error err = {0};

	if (f->ops->trash->put(f->provider, &what, deadline_after(CALL_TIMEOUT_MS), &err) < 0)
		log_warning("files are left without a row", TEXT("sandbox", id), FAILURE(&err));
}

/* Past the cache, which may be of before a change. */
static int find_project_max(struct fleet *f, struct arena *a, const char *project_id, unsigned *ret,
                            struct error *err)
{
	struct project_record project;

	if (store_project_find(f->store, a, project_id, &project, err) < 0)
		return -1;
	*ret = (unsigned)(project.sandboxes_max > 0 ? project.sandboxes_max
	                                            : f->config->sandboxes_max);
	return 0;
}

static int move_row(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                    struct sandbox_record *ret, struct error *err)
{
	struct kept_volumes volumes = {.lost = ""};
	struct sandbox_move move = {.id = r->id,
	                            .from = SANDBOX_DELETED,
	                            .to = SANDBOX_STOPPED,
	                            .desired = SANDBOX_STOPPED,
	                            .reason = SANDBOX_REASON_USER,
	                            .traits_lost = SANDBOX_DELETED_KEPT,
	                            .now = clock_unix_ms()};

	if (kept_volumes_find(f, a, r, &volumes))
		move.mounts = &volumes.mounts;
	move.event = arena_format(a, "brought back from the trash%s", volumes.lost);
	if (find_project_max(f, a, r->project_id, &move.project_max, err) < 0)
		return -1;
	return store_sandbox_move_read(f->store, a, &move, ret, err);
}

static int check_name(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                      struct error *err)
{
	struct sandbox_record other;

	if (store_sandbox_find(f->store, a, r->project_id, r->name, &other, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return 0;
	}
	if (other.actual == SANDBOX_DELETING || other.actual == SANDBOX_FAILED)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "another sandbox is called '%s' by now", r->name);
	return FAIL_HINT(err, "remove or rename '%s' before; the deleted one stays in the trash",
	                 r->name);
}

/* Without it no file of the sandbox but its own would be there. */
static int check_template(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                          struct error *err)
{
	struct template_record t;

	if (store_template_find(f->store, a, r->project_id, r->template_id, &t, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_set(err, ERROR_CONFLICT, 0, HERE,
	          "the template '%s' of sandbox '%s' was removed meanwhile", r->template_name,
	          r->name);
	return FAIL_HINT(err, "the deleted one stays in the trash until its time is over");
}

static int undelete_sandbox(struct operation *op, const struct sandbox_record *r,
                            struct sandbox_record *ret, struct error *err)
{
	struct fleet *f = op->fleet;

	if (r->actual != SANDBOX_DELETED)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is %s, not deleted", r->name,
		            sandbox_state_name(r->actual));
	if (check_name(f, op->arena, r, err) < 0 || check_template(f, op->arena, r, err) < 0 ||
	    restore_sandbox(f, r->id, err) < 0)
		return -1;
	fault_point("api", "undelete-files");
	if (move_row(f, op->arena, r, ret, err) == 0) {
		cache_update(f->cache, op->entry, ret);
		note_drop_of(f, NOTE_KEPT, r->id);
		return 0;
	}
	return_to_trash(f, r->id, PROVIDER_TRASH_DELETED);
	return -1;
}

int fleet_undelete(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                   struct sandbox_record *ret, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};
	struct sandbox_record r;

	if (!id_is_valid(ref->id_or_name))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not an id: names may be others' by now",
		            ref->id_or_name);
	if (store_sandbox_find_ended(fleet->store, a, ref->project_id, ref->id_or_name, &r, err) <
	            0 ||
	    sandbox_check_local(fleet, &r, err) < 0)
		return -1;
	if (operation_begin_new(fleet, a, r.id, &op, err) < 0)
		return -1;
	operation_use(&op, sandbox_provider(fleet, &r));
	return undelete_sandbox(&op, &r, ret, err);
}

int fleet_trash_recover(struct fleet *fleet, const char *id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	struct notes_made made = {0};

	if (operation_begin_new(fleet, &arena, id, &op, err) < 0 ||
	    restore_sandbox(fleet, id, err) < 0)
		return -1;
	if (note_make_row(fleet, id, SANDBOX_STOPPED, &made, err) == 0)
		return 0;
	return_to_trash(fleet, id, PROVIDER_TRASH_ORPHAN);
	return -1;
}

/* One query for all: id -> struct sandbox_owner. */
static int find_owners(struct fleet *f, struct arena *a, const char *project_id,
                       const struct provider_trash_list *list, struct map *ret, struct error *err)
{
	AUTO(buf_done) struct buf ids = BUF(TRASH_IDS_MAX);
	struct sandbox_owner_list owners;

	for (size_t i = 0; i < list->count; i++)
		buf_addf(&ids, "%s\"%s\":0", i == 0 ? "{" : ",", list->items[i].id);
	buf_add_text(&ids, list->count == 0 ? "{}" : "}");
	if (ids.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the trash has %zu entries", list->count);
	if (store_sandbox_owners(f->store, a, project_id, buf_text(&ids), &owners, err) < 0)
		return -1;
	for (size_t i = 0; i < owners.count; i++)
		(void)map_put(ret, owners.items[i].id, &owners.items[i]);
	return 0;
}

static int compare_items(const void *a, const void *b)
{
	const struct fleet_trash_item *x = a, *y = b;

	return x->until < y->until ? -1 : x->until > y->until;
}

static struct fleet_trash_item item_of(const struct provider_trash_entry *entry)
{
	static const char *const kinds[] = {[PROVIDER_TRASH_SANDBOX] = "sandbox",
	                                    [PROVIDER_TRASH_SNAPSHOT] = "snapshot",
	                                    [PROVIDER_TRASH_LAYER] = "layer"};
	bool is_orphan = entry->reason == PROVIDER_TRASH_ORPHAN;

	return (struct fleet_trash_item){.kind = kinds[entry->kind],
	                                 .reason = is_orphan ? "orphan" : "deleted",
	                                 .id = entry->id,
	                                 .name = "",
	                                 .project_id = "",
	                                 .until = entry->until,
	                                 .size_bytes = entry->size_bytes};
}

int fleet_trash_list(struct fleet *fleet, struct arena *a, const char *project_id,
                     struct fleet_trash_list *ret, struct error *err)
{
	struct provider_trash_list list = {0};
	struct fleet_trash_list found = {0};
	AUTO(map_done) struct map owners = {0};

	if ((fleet->ops->trash && list_trash(fleet, a, &list, err) < 0) ||
	    find_owners(fleet, a, project_id, &list, &owners, err) < 0)
		return -1;
	found.items = ARENA_ARRAY(a, struct fleet_trash_item, list.count + 1);
	for (size_t i = 0; i < list.count; i++) {
		struct fleet_trash_item item = item_of(&list.items[i]);
		const struct sandbox_owner *owner = map_find(&owners, item.id);

		if (!owner && project_id)
			continue;
		if (owner) {
			item.name = owner->name;
			item.project_id = owner->project_id;
		}
		found.items[found.count++] = item;
	}
	if (found.count > 0)
		qsort(found.items, found.count, sizeof(*found.items), compare_items);
	*ret = found;
	return 0;
}
