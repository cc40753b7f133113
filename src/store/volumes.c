/* SPDX-License-Identifier: Apache-2.0 */
#include "store/volumes.h"

#include "store/column_rows.h"
#include "sandbox/events.h"
#include "store/event_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

NAMES_OF(volume_state, VOLUME_STATE_COUNT, [VOLUME_MAKING] = "making", [VOLUME_READY] = "ready",
         [VOLUME_DELETING] = "deleting")
NAMES_OF(mount_state, MOUNT_STATE_COUNT, [MOUNT_ATTACHED] = "attached",
         [MOUNT_ATTACHING] = "attaching", [MOUNT_DETACHING] = "detaching")
WORDS_OF(sandbox_state, SANDBOX_STATE_COUNT)

COLUMNS_OF(volume_record);
COLUMNS_OF(volume_move);
COLUMNS_OF(mount_record);
COLUMNS_OF(mount_move);

struct volume_insertion {
	const struct volume_record *record;
	unsigned volumes_max;
};

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct volume_insertion *insertion = context;
	const struct volume_record *r = insertion->record;
	const struct record_lookup project = {.project_id = r->project_id};

	if (ROW_OR(query_run(c, QUERY_VOLUME_ADMIT, &project, NULL, err),
	           FAIL(err, ERROR_NOT_FOUND, "project '%s' is gone, or going", r->project_id)) <
	            0 ||
	    ROW_OR(query_run(c, QUERY_VOLUME_INSERT, r, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "a volume named '%s' exists already", r->name)) < 0 ||
	    project_check_count(c, QUERY_VOLUME_COUNT, r->project_id, insertion->volumes_max,
	                        "volumes", err) < 0)
		return -1;
	return event_add_about(
	        c, EVENT_VOLUME_CREATED,
	        &(struct event_subject){.project_id = r->project_id, .name = r->name}, err);
}

int store_volume_insert(struct store *s, const struct volume_record *r, unsigned volumes_max,
                        struct error *err)
{
	struct volume_insertion insertion = {r, volumes_max};

	return store_change(s, run_insertion, &insertion, err);
}

int store_volume_find(struct store *s, struct arena *a, const char *project_id,
                      const char *id_or_name, struct volume_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, project_id ? QUERY_VOLUME_FIND : QUERY_VOLUME_FIND_BY_ID,
	                               LOOKUP(.project_id = project_id, .id = id_or_name),
	                               INTO(a, ret), err),
	              FAIL_MISSING(err, "volume", id_or_name));
}

int store_volume_list(struct store *s, struct arena *a, const char *project_id,
                      struct volume_list *ret, struct error *err)
{
	if (!project_id)
		return store_list_query(s, QUERY_VOLUME_LIST_ALL, NULL, LIST_INTO(a, ret), err);
	return store_list_query(s, QUERY_VOLUME_LIST, LOOKUP(.project_id = project_id),
	                        LIST_INTO(a, ret), err);
}

static int add_volume_event(struct store_connection *c, enum event_kind kind,
                            const char *sandbox_id, const struct volume_record *volume,
                            struct error *err)
{
	const struct event_subject subject = {
	        .project_id = volume->project_id, .sandbox_id = sandbox_id, .name = volume->name};

	return event_add_about(c, kind, &subject, err);
}

static int add_mount_event(struct store_connection *c, enum event_kind kind, const char *sandbox_id,
                           const char *volume_id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct volume_record volume;
	int found = query_find(c, QUERY_VOLUME_FIND_BY_ID, LOOKUP(.id = volume_id),
	                       INTO(&arena, &volume), err);

	return found <= 0 ? found : add_volume_event(c, kind, sandbox_id, &volume, err);
}

static int drop_mount(struct store_connection *c, const struct mount_record *mount,
                      struct error *err)
{
	int count = query_run(c, QUERY_MOUNT_REMOVE, mount, NULL, err);

	if (count <= 0 || mount->state == MOUNT_ATTACHING)
		return count < 0 ? -1 : 0;
	return add_mount_event(c, EVENT_VOLUME_DETACHED, mount->sandbox_id, mount->volume_id, err);
}

static int drop_mounts(struct store_connection *c, const struct mount_list *mounts,
                       struct error *err)
{
	for (size_t i = 0; i < mounts->count; i++)
		if (drop_mount(c, &mounts->items[i], err) < 0)
			return -1;
	return 0;
}

/* Drops the mounts of deleted sandboxes, of a volume or (NULL) of all; only their rows are left.
 * The events come late, but before another sandbox gets the volume. */
static int drop_gone(struct store_connection *c, const char *volume_id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct mount_list gone;

	if (query_list(c, QUERY_MOUNT_LIST_GONE, LOOKUP(.id = volume_id), LIST_INTO(&arena, &gone),
	               err) < 0)
		return -1;
	return drop_mounts(c, &gone, err);
}

static int find_holders(struct store_connection *c, struct arena *a, const char *volume_id,
                        struct mount_list *ret, struct error *err)
{
	return query_list(c, QUERY_MOUNT_LIST_OF_VOLUME, LOOKUP(.id = volume_id), LIST_INTO(a, ret),
	                  err);
}

static int refuse_held(const struct mount_record *holder, struct error *err)
{
	error_set(err, ERROR_CONFLICT, 0, HERE, "volume '%s' is attached to sandbox '%s' (%s)%s",
	          holder->volume_name, holder->sandbox_name,
	          sandbox_state_name(holder->sandbox_state),
	          holder->is_read_only ? ", read-only" : "");
	return FAIL_HINT(err, "%s",
	                 holder->is_read_only ? "attach it read-only, or detach it there first"
	                                      : "detach it there first");
}

/* Allows a single writer or any number of readers. */
static int check_holders(const struct mount_list *holders, const struct mount_record *wanted,
                         struct error *err)
{
	for (size_t i = 0; i < holders->count; i++)
		if (!wanted->is_read_only || !holders->items[i].is_read_only)
			return refuse_held(&holders->items[i], err);
	return 0;
}

struct move {
	const struct volume_move *takes;
	struct arena *arena;
	struct volume_record moved;
};

static int refuse_move(struct store_connection *c, const struct volume_move *takes,
                       struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct volume_record seen;

	if (ROW_OR(query_find(c, QUERY_VOLUME_FIND_BY_ID, LOOKUP(.id = takes->id),
	                      INTO(&arena, &seen), err),
	           FAIL_MISSING(err, "volume", takes->id)) < 0)
		return -1;
	return FAIL(err, ERROR_CONFLICT, "volume '%s' is %s, not %s", seen.name,
	            volume_state_name(seen.state), volume_state_name(takes->from));
}

static int run_move(struct store_connection *c, void *context, struct error *err)
{
	struct move *move = context;
	AUTO(arena_done) struct arena arena = {0};
	struct mount_list holders;

	if (ROW_OR(query_find(c, QUERY_VOLUME_MOVE, move->takes, INTO(move->arena, &move->moved),
	                      err),
	           refuse_move(c, move->takes, err)) < 0)
		return -1;
	if (move->takes->from == VOLUME_READY && move->takes->to == VOLUME_READY)
		return add_volume_event(c, EVENT_VOLUME_GROWN, NULL, &move->moved, err);
	if (move->takes->to != VOLUME_DELETING)
		return 0;
	if (find_holders(c, &arena, move->takes->id, &holders, err) < 0)
		return -1;
	if (holders.count == 0)
		return 0;
	(void)refuse_held(holders.items, err);
	return FAIL_HINT(err, "detach it there first");
}

int store_volume_move(struct store *s, struct arena *a, const struct volume_move *move,
                      struct volume_record *ret, struct error *err)
{
	struct move context = {.takes = move, .arena = a};

	if (store_change(s, run_move, &context, err) < 0)
		return -1;
	*ret = context.moved;
	return 0;
}

static int run_removal(struct store_connection *c, void *context, struct error *err)
{
	const struct record_lookup lookup = {.id = context};
	AUTO(arena_done) struct arena arena = {0};
	struct volume_record r;
	int found = query_find(c, QUERY_VOLUME_FIND_BY_ID, &lookup, INTO(&arena, &r), err);

	if (found <= 0)
		return found;
	if (drop_gone(c, context, err) < 0 ||
	    query_run(c, QUERY_MOUNT_REMOVE_OF_VOLUME, &lookup, NULL, err) < 0 ||
	    query_run(c, QUERY_VOLUME_REMOVE, &lookup, NULL, err) < 0)
		return -1;
	return event_add_about(c, EVENT_VOLUME_DELETED,
	                       &(struct event_subject){.project_id = r.project_id, .name = r.name},
	                       err);
}

int store_volume_remove(struct store *s, const char *id, struct error *err)
{
	return store_change(s, run_removal, id, err);
}

static int claim_volume(struct store_connection *c, const struct mount_record *mount,
                        struct arena *a, struct volume_record *ret, struct error *err)
{
	return ROW_OR(query_find(c, QUERY_VOLUME_CLAIM,
	                         LOOKUP(.id = mount->volume_id, .now = mount->created_at),
	                         INTO(a, ret), err),
	              FAIL(err, ERROR_CONFLICT, "volume '%s' is not ready, or is being deleted",
	                   mount->volume_id));
}

static int insert_mount(struct store_connection *c, const struct mount_record *mount,
                        struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct mount_list holders;
	struct volume_record volume;

	if (claim_volume(c, mount, &arena, &volume, err) < 0 ||
	    find_holders(c, &arena, mount->volume_id, &holders, err) < 0 ||
	    (!*volume.workspace && check_holders(&holders, mount, err) < 0) ||
	    drop_gone(c, mount->volume_id, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_MOUNT_INSERT, mount, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "there is a volume at '%s' already", mount->path)) < 0)
		return -1;
	if (mount->state != MOUNT_ATTACHED)
		return 0;
	return add_volume_event(c, EVENT_VOLUME_ATTACHED, mount->sandbox_id, &volume, err);
}

int mounts_run(struct store_connection *c, const struct mount_list *mounts, struct error *err)
{
	for (size_t i = 0; i < mounts->count; i++)
		if (insert_mount(c, &mounts->items[i], err) < 0)
			return -1;
	return 0;
}

int mounts_run_anew(struct store_connection *c, const char *sandbox_id,
                    const struct mount_list *mounts, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct mount_list old;

	if (query_list(c, QUERY_MOUNT_LIST_OF_SANDBOX, LOOKUP(.id = sandbox_id),
	               LIST_INTO(&arena, &old), err) < 0 ||
	    drop_mounts(c, &old, err) < 0)
		return -1;
	return mounts_run(c, mounts, err);
}

static int run_mounts(struct store_connection *c, void *context, struct error *err)
{
	return mounts_run(c, context, err);
}

int store_mounts_insert(struct store *s, const struct mount_record *mounts, size_t count,
                        struct error *err)
{
	const struct mount_list list = {(struct mount_record *)(uintptr_t)mounts, count};

	return store_change(s, run_mounts, &list, err);
}

static int run_mount_move(struct store_connection *c, void *context, struct error *err)
{
	const struct mount_move *move = context;

	if (ROW_OR(query_run(c, QUERY_MOUNT_MOVE, move, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "volume '%s' is not %s", move->volume_id,
	                mount_state_name(move->from))) < 0)
		return -1;
	if (move->from != MOUNT_ATTACHING)
		return 0;
	return add_mount_event(c, EVENT_VOLUME_ATTACHED, move->sandbox_id, move->volume_id, err);
}

int store_mount_move(struct store *s, const struct mount_move *move, struct error *err)
{
	return store_change(s, run_mount_move, move, err);
}

static int run_mount_removal(struct store_connection *c, void *context, struct error *err)
{
	const struct mount_record *mount = context;
	int count = query_run(c, QUERY_MOUNT_REMOVE_ATTACHING, mount, NULL, err);

	if (count != 0)
		return count < 0 ? -1 : 0;
	if (ROW_OR(query_run(c, QUERY_MOUNT_REMOVE, mount, NULL, err),
	           FAIL(err, ERROR_NOT_FOUND, "volume '%s' is not attached", mount->volume_id)) < 0)
		return -1;
	return add_mount_event(c, EVENT_VOLUME_DETACHED, mount->sandbox_id, mount->volume_id, err);
}

int store_mount_remove(struct store *s, const char *sandbox_id, const char *volume_id,
                       struct error *err)
{
	struct mount_record mount = {.sandbox_id = sandbox_id, .volume_id = volume_id};

	return store_change(s, run_mount_removal, &mount, err);
}

static int list_mounts(struct store *s, struct arena *a, enum query_name query,
                       const struct record_lookup *lookup, struct mount_list *ret,
                       struct error *err)
{
	return store_list_query(s, query, lookup, LIST_INTO(a, ret), err);
}

int store_mounts_of_sandbox(struct store *s, struct arena *a, const char *sandbox_id,
                            struct mount_list *ret, struct error *err)
{
	return list_mounts(s, a, QUERY_MOUNT_LIST_OF_SANDBOX, LOOKUP(.id = sandbox_id), ret, err);
}

int store_mounts_of_volume(struct store *s, struct arena *a, const char *volume_id,
                           struct mount_list *ret, struct error *err)
{
	return list_mounts(s, a, QUERY_MOUNT_LIST_OF_VOLUME, LOOKUP(.id = volume_id), ret, err);
}

int store_mounts_of_project(struct store *s, struct arena *a, const char *project_id,
                            struct mount_list *ret, struct error *err)
{
	return list_mounts(s, a, QUERY_MOUNT_LIST_OF_PROJECT, LOOKUP(.project_id = project_id), ret,
	                   err);
}

int store_mounts_unfinished(struct store *s, struct arena *a, struct mount_list *ret,
                            struct error *err)
{
	return list_mounts(s, a, QUERY_MOUNT_LIST_UNFINISHED, NULL, ret, err);
}

static int run_tidy(struct store_connection *c, UNUSED void *context, struct error *err)
{
	return drop_gone(c, NULL, err);
}

int store_mounts_tidy(struct store *s, struct error *err)
{
	return store_change(s, run_tidy, NULL, err);
}
