/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/snapshot/snapshot.h"

#include <string.h>

#include "base/fault.h"
#include "base/map.h"
#include "fleet/core/elsewhere.h"
#include "fleet/core/operation.h"
#include "fleet/core/sandboxes.h"
#include "fleet/recovery/notes.h"
#include "fleet/snapshot/snapshots.h"
#include "fleet/usage/storage_limit.h"
#include "provider/entries.h"
#include "provider/set.h"
#include "provider/snapshots.h"
#include "provider/timed.h"
#include "store/secret_windows.h"

#define SNAPSHOTS_MAX 10000 /* of a project */
#define PAGE_SIZE 500
/* A row of another server's may be young and unfinished. */
#define UNFINISHED_MS (40 * 60 * 1000)

int snapshot_check_state(const struct sandbox_record *r, struct error *err)
{
	if (sandbox_is_alive(r) || r->actual == SANDBOX_STOPPED)
		return 0;
	return refuse_state(r, "kept in a snapshot", err);
}

/* The parent of the snapshot; a layer of a template is not shown as one. */
static int find_parent(struct operation *op, const char **ret, struct error *err)
{
	struct snapshot_record parent;
	struct snapshot_base base;

	if (store_snapshot_base(op->fleet->store, op->arena, op->record.id, &base, err) < 0)
		return -1;
	*ret = base.snapshot_id;
	if (!**ret)
		return 0;
	if (store_snapshot_find(op->fleet->store, op->arena, NULL, *ret, &parent, err) == 0) {
		if (parent.kind == SNAPSHOT_LAYER)
			*ret = "";
		return 0;
	}
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

static int insert_row(struct operation *op, const struct fleet_snapshot *request,
                      struct snapshot_record *ret, struct error *err)
{
	const struct sandbox_record *r = &op->record;
	struct id id = id_new();
	const char *base;

	if (find_parent(op, &base, err) < 0)
		return -1;
	*ret = (struct snapshot_record){
	        .id = arena_text(op->arena, id.text),
	        .project_id = r->project_id,
	        .sandbox_id = r->id,
	        .sandbox_name = r->name,
	        .parent_id = base,
	        .template_id = r->template_id,
	        .template_name = r->template_name,
	        .provider = r->provider,
	        .node = r->node,
	        .state = SNAPSHOT_MAKING,
	        .method = "",
	        .because = "",
	        .created_at = clock_unix_ms(),
	        .kind = request->kind,
	};
	ret->name = request->name ? request->name : ret->id;
	return snapshot_insert(op->fleet, ret, err);
}

static void remove_row(struct fleet *f, const char *id)
{
	struct error err = {0};

	if (store_snapshot_remove(f->store, id, &err) < 0)
		log_warning("the row of a failed snapshot is left", TEXT("snapshot", id),
		            FAILURE(&err));
}

int snapshot_insert(struct fleet *f, const struct snapshot_record *r, struct error *err)
{
	return store_snapshot_insert(f->store, r, SNAPSHOTS_MAX, err);
}

int snapshot_drop(struct fleet *f, const char *id, struct error *err)
{
	if (f->ops->snapshots->remove(f->provider, id, deadline_after(CALL_TIMEOUT_MS), err) < 0)
		return FAIL_CONTEXT(err, "remove snapshot '%s'", id);
	fault_point("api", "snapshot-removed");
	note_drop_of(f, "snapshot", id);
	return store_snapshot_remove(f->store, id, err);
}

/* A fork's files are measured later. */
static int check_room(struct operation *op, const struct fleet_snapshot *request,
                      const struct snapshot_record *s, struct error *err)
{
	const struct storage_claim claim = {s->project_id, s->id, 0};
	bool is_limited;
	int64_t room;

	if (s->kind != SNAPSHOT_TAKEN)
		return 0;
	if (storage_is_limited(op->fleet, op->arena, s->project_id, &is_limited, err) < 0)
		return -1;
	if (!is_limited)
		return 0;
	return request->is_fork ? storage_room(op->fleet, &claim, &room, err)
	                        : storage_expect_files(op->fleet, &claim, s->sandbox_id, err);
}

/* The provider knows what the host lacks, or else what of its sandboxes cannot be kept. */
static int refuse_memory(const struct operation *op, struct error *err)
{
	const char *provider = op->record.provider;

	if (op->ops->snapshots->memory(op->provider, deadline_after(CALL_TIMEOUT_MS), err) < 0)
		return FAIL_CONTEXT(err, "provider '%s'", provider);
	(void)FAIL(err, ERROR_UNSUPPORTED, "provider '%s' keeps files, not memory", provider);
	return FAIL_HINT(err,
	                 "leave \"memory\" out; a paused sandbox keeps its memory where it is");
}

static int refuse_secrets(const struct operation *op, const struct fleet_snapshot *request,
                          struct error *err)
{
	return request->memory ? store_secret_window_refuse(op->fleet->store, op->record.id,
	                                                    "a snapshot with memory", err)
	                       : 0;
}

int snapshot_take(struct operation *op, const struct fleet_snapshot *request,
                  struct snapshot_record *ret, struct error *err)
{
	struct fleet *f = op->fleet;
	struct provider_snapshot_made made;
	struct provider_timed *timed;
	struct error second = {0};

	if (sandbox_require(op->fleet, &op->record, PROVIDER_CAN_SNAPSHOT, err) < 0 ||
	    (request->memory && !(op->ops->abilities & PROVIDER_CAN_KEEP_MEMORY) &&
	     refuse_memory(op, err) < 0) ||
	    refuse_secrets(op, request, err) < 0 || insert_row(op, request, ret, err) < 0)
		return -1;
	fault_point("api", "snapshot-recorded");
	if (check_room(op, request, ret, err) < 0) {
		remove_row(f, ret->id);
		return -1;
	}
	const struct provider_snapshot asked = {op->record.id, ret->id, request->sync,
	                                        request->memory};

	timed = provider_timed_begin("snapshot");
	if (provider_timed_end(timed,
	                       op->ops->snapshots->take(op->provider, &asked,
	                                                deadline_after(CALL_TIMEOUT_MS), &made,
	                                                err),
	                       err) < 0) {
		remove_row(f, ret->id);
		return FAIL_CONTEXT(err, "snapshot of '%s'", op->record.name);
	}
	fault_point("api", "snapshot-taken");
	ret->state = SNAPSHOT_READY;
	ret->method = arena_text(op->arena, made.method);
	ret->because = arena_text(op->arena, made.because);
	ret->depth = made.depth;
	ret->frozen_us = made.frozen_us;
	/* A call that was under way may have opened a window meanwhile. */
	if (refuse_secrets(op, request, err) == 0 &&
	    store_snapshot_update(f->store, ret, !request->sync, err) == 0)
		return 0;
	if (snapshot_drop(f, ret->id, &second) < 0)
		log_warning("a snapshot is left for the next sweep", FAILURE(&second));
	return -1;
}

int snapshot_check_request(const struct fleet *f, const char *name, struct error *err)
{
	if (provider_require(f->provider, PROVIDER_CAN_SNAPSHOT, err) < 0)
		return -1;
	return name ? sandbox_name_check(name, err) : 0;
}

int fleet_snapshot(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                   const struct fleet_snapshot *request, struct snapshot_record *ret,
                   struct error *err)
{
	AUTO(operation_end) struct operation op = {0};

	if (snapshot_check_request(fleet, request->name, err) < 0 ||
	    operation_find_and_begin(fleet, a, ref, &op, err) < 0 ||
	    snapshot_check_state(&op.record, err) < 0)
		return -1;
	return snapshot_take(&op, request, ret, err);
}

int fleet_snapshot_find(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                        struct snapshot_record *ret, struct error *err)
{
	if (store_snapshot_find(fleet->store, a, ref->project_id, ref->id_or_name, ret, err) < 0)
		return -1;
	/* Layers are the builds' own. */
	if (ret->kind == SNAPSHOT_LAYER)
		return FAIL_MISSING(err, "snapshot", ref->id_or_name);
	return 0;
}

/* The primary keeps the files of its own snapshots, and of those of providers that share them. */
static bool is_kept_here(const struct fleet *f, const struct snapshot_record *r)
{
	const struct provider_member *m = provider_set_find(f->providers, r->provider);
	struct provider *p = m ? provider_member_provider(m) : NULL;

	return strcmp(r->provider, f->primary) == 0 || (p && provider_shares_place(p, f->provider));
}

static int check_provider(const struct fleet *f, const struct snapshot_record *r, struct error *err)
{
	if (!is_kept_here(f, r))
		return FAIL(err, ERROR_UNAVAILABLE,
		            "snapshot '%s' was taken by provider '%s', whose files provider '%s' "
		            "does not keep",
		            r->name, r->provider, f->primary);
	if (strcmp(r->node, f->node) == 0)
		return 0;
	return elsewhere_fail(f, &(struct elsewhere){"snapshot", r->name, "is", r->node}, err);
}

int snapshot_find_ready(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                        struct snapshot_record *ret, struct error *err)
{
	if (provider_require(f->provider, PROVIDER_CAN_SNAPSHOT, err) < 0 ||
	    fleet_snapshot_find(f, a, ref, ret, err) < 0 || check_provider(f, ret, err) < 0)
		return -1;
	if (ret->state == SNAPSHOT_READY)
		return 0;
	return FAIL(err, ERROR_CONFLICT, "snapshot '%s' is %s, not ready", ret->name,
	            snapshot_state_name(ret->state));
}

int snapshot_require(const struct fleet *f, const struct snapshot_record *r, unsigned ability,
                     struct error *err)
{
	const struct provider_member *m = provider_set_find(f->providers, r->provider);
	struct provider *p = m ? provider_member_provider(m) : f->provider;

	if (p && provider_require(p, ability, err) < 0)
		return FAIL_CONTEXT(err, "snapshot '%s'", r->name);
	return p ? 0
	         : FAIL(err, ERROR_UNAVAILABLE, "provider '%s' of snapshot '%s' does not answer",
	                r->provider, r->name);
}

int fleet_snapshot_remove(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          struct error *err)
{
	struct snapshot_record r;

	if (provider_require(fleet->provider, PROVIDER_CAN_SNAPSHOT, err) < 0 ||
	    fleet_snapshot_find(fleet, a, ref, &r, err) < 0 || check_provider(fleet, &r, err) < 0)
		return -1;
	if (r.state == SNAPSHOT_MAKING)
		return FAIL(err, ERROR_CONFLICT, "snapshot '%s' is being taken", r.name);
	r.state = SNAPSHOT_REMOVING;
	if (store_snapshot_update(fleet->store, &r, true, err) < 0)
		return -1;
	fault_point("api", "snapshot-removing");
	return snapshot_drop(fleet, r.id, err);
}

static bool is_unfinished(const struct snapshot_record *r, bool at_boot)
{
	return (r->state == SNAPSHOT_MAKING || r->state == SNAPSHOT_REMOVING) &&
	       (at_boot || clock_unix_ms() - r->created_at > UNFINISHED_MS);
}

/* The list may be older than the snapshot: the provider is asked again for a row that was ready
 * before. */
static bool are_files_gone(struct fleet *f, const char *id)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_list list;
	struct error err = {0};

	if (f->ops->snapshots->list(f->provider, &arena, &list, &err) < 0)
		return false;
	for (size_t i = 0; i < list.count; i++)
		if (strcmp(list.entries[i].id, id) == 0)
			return false;
	return true;
}

static void sweep_row(struct fleet *f, struct snapshot_record *r, const struct map *present,
                      bool at_boot)
{
	struct error err = {0};
	int status = 0;

	if (!is_kept_here(f, r))
		return;
	if (is_unfinished(r, at_boot)) {
		status = snapshot_drop(f, r->id, &err);
	} else if (r->state == SNAPSHOT_READY && !map_find(present, r->id) &&
	           are_files_gone(f, r->id)) {
		log_error("a snapshot's files are gone", TEXT("snapshot", r->id));
		r->state = SNAPSHOT_LOST;
		status = store_snapshot_update(f->store, r, false, &err);
	} else if (!at_boot) {
		note_snapshot(f, r);
	}
	if (status < 0)
		log_warning("a snapshot is not settled", TEXT("snapshot", r->id), FAILURE(&err));
}

static int sweep_rows(struct fleet *f, const struct map *present, bool at_boot, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct snapshot_filter filter = {.limit = PAGE_SIZE, .node = f->node, .with_layers = true};
	struct snapshot_list list;

	do {
		if (store_snapshot_list(f->store, &arena, &filter, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++)
			sweep_row(f, &list.items[i], present, at_boot);
		filter.page = list.next_page;
	} while (filter.page);
	return 0;
}

/* The row of a snapshot was written before it was made: without a row it is an orphan. */
static void sweep_orphans(struct fleet *f, struct arena *a, const struct provider_list *list)
{
	const char **orphans = ARENA_ARRAY(a, const char *, list->count + 1);
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		if (!note_knows_snapshot(f, list->entries[i].id))
			orphans[count++] = list->entries[i].id;
	if (!orphans_may_go(f, count, list->count - count))
		return;
	for (size_t i = 0; i < count; i++)
		orphan_snapshot_remove(f, orphans[i]);
}

/* The provider is asked before the rows are read, so that what it lists has its row by then. */
int snapshots_sweep(struct fleet *f, bool at_boot, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(map_done) struct map present = {0};
	struct provider_list list;

	if (!(f->ops->abilities & PROVIDER_CAN_SNAPSHOT))
		return 0;
	if (f->ops->snapshots->list(f->provider, &arena, &list, err) < 0)
		return FAIL_CONTEXT(err, "list the snapshots of provider '%s'", f->primary);
	for (size_t i = 0; i < list.count; i++)
		map_put(&present, list.entries[i].id, f);
	sweep_orphans(f, &arena, &list);
	return sweep_rows(f, &present, at_boot, err);
}
