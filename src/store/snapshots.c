/* SPDX-License-Identifier: Apache-2.0 */
#include "store/snapshots.h"

#include "store/column_rows.h"
#include "store/sandbox_record.h"
#include "sandbox/events.h"
#include "store/event_rows.h"
#include "store/pages.h"
#include "store/query.h"
#include "store/transaction_parts.h"

NAMES_OF(snapshot_state, SNAPSHOT_LOST + 1, [SNAPSHOT_MAKING] = "making",
         [SNAPSHOT_READY] = "ready", [SNAPSHOT_REMOVING] = "removing", [SNAPSHOT_LOST] = "lost")
NAMES_OF(snapshot_kind, SNAPSHOT_KIND_COUNT, [SNAPSHOT_TAKEN] = "taken", [SNAPSHOT_LAYER] = "layer")

struct snapshot_page {
	struct snapshot_filter filter;
	const char *kind;
	struct page_position position;
};

COLUMNS_OF(snapshot_record);
COLUMNS_OF(snapshot_page);
COLUMNS_OF(snapshot_base);
COLUMNS_OF(sandbox_owner);
COLUMNS_OF(fork_search);

struct snapshot_insertion {
	const struct snapshot_record *record;
	unsigned project_max;
};

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct snapshot_insertion *insertion = context;
	const struct snapshot_record *r = insertion->record;

	if (ROW_OR(query_run(c, QUERY_SNAPSHOT_INSERT, r, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "a snapshot named '%s' exists already", r->name)) < 0)
		return -1;
	if (project_check_count(c, QUERY_SNAPSHOT_COUNT, r->project_id, insertion->project_max,
	                        "snapshots", err) == 0)
		return 0;
	return err->code == ERROR_LIMIT ? FAIL_HINT(err, "remove one") : -1;
}

int store_snapshot_insert(struct store *s, const struct snapshot_record *r, unsigned project_max,
                          struct error *err)
{
	struct snapshot_insertion insertion = {r, project_max};

	/* Lazy: when a crash loses the row, the snapshot belongs to no row and is swept. */
	return store_change_lazily(s, run_insertion, &insertion, err);
}

int store_snapshot_find(struct store *s, struct arena *a, const char *project_id,
                        const char *id_or_name, struct snapshot_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_SNAPSHOT_FIND,
	                               LOOKUP(.project_id = project_id, .id = id_or_name),
	                               INTO(a, ret), err),
	              FAIL_MISSING(err, "snapshot", id_or_name));
}

int store_snapshot_list(struct store *s, struct arena *a, const struct snapshot_filter *filter,
                        struct snapshot_list *ret, struct error *err)
{
	struct snapshot_page page = {
	        .filter = *filter,
	        .kind = filter->with_layers ? NULL : snapshot_kind_name(SNAPSHOT_TAKEN),
	};

	if (page_begin(&page.position, filter->page, filter->limit, err) < 0)
		return -1;
	return store_list_query(s, QUERY_SNAPSHOT_LIST, &page, PAGE_INTO(a, ret, &page.position),
	                        err);
}

/* Layers add no event. */
static int add_snapshot_event(struct store_connection *c, enum event_kind kind,
                              const struct snapshot_record *r, struct error *err)
{
	const struct event_subject subject = {r->project_id, r->sandbox_id, r->name};

	return r->kind == SNAPSHOT_TAKEN ? event_add_about(c, kind, &subject, err) : 0;
}

/* Called before the update: adds an event only when this update marks it as LOST. */
static int add_lost_event(struct store_connection *c, const struct snapshot_record *r,
                          struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct snapshot_record before;
	int found =
	        query_find(c, QUERY_SNAPSHOT_FIND, LOOKUP(.id = r->id), INTO(&arena, &before), err);

	if (found <= 0 || before.state == SNAPSHOT_LOST)
		return found < 0 ? -1 : 0;
	return add_snapshot_event(c, EVENT_SNAPSHOT_LOST, &before, err);
}

static int run_update(struct store_connection *c, void *context, struct error *err)
{
	const struct snapshot_record *r = context;
	const struct snapshot_base base = {r->sandbox_id, r->id, ""};
	int count, state;

	if (r->state == SNAPSHOT_LOST && add_lost_event(c, r, err) < 0)
		return -1;
	if (ROW_OR(query_run(c, QUERY_SNAPSHOT_UPDATE, r, NULL, err),
	           FAIL_MISSING(err, "snapshot", r->id)) < 0)
		return -1;
	if (r->state != SNAPSHOT_READY)
		return 0;
	count = sandbox_run_state(c, r->sandbox_id, &state, err);
	if (count > 0)
		count = query_run(c, QUERY_SNAPSHOT_BASE_SET, &base, NULL, err);
	return count < 0 ? -1 : add_snapshot_event(c, EVENT_SNAPSHOT_CREATED, r, err);
}

int store_snapshot_update(struct store *s, const struct snapshot_record *r, bool is_lazy,
                          struct error *err)
{
	return store_transact(s, &(struct transaction){run_update, r, is_lazy}, err);
}

/* A snapshot that was never READY adds no event. */
static int run_removal(struct store_connection *c, void *context, struct error *err)
{
	const struct record_lookup *lookup = context;
	AUTO(arena_done) struct arena arena = {0};
	struct snapshot_record r;
	int found = query_find(c, QUERY_SNAPSHOT_FIND, lookup, INTO(&arena, &r), err);

	if (found <= 0)
		return found;
	if (query_run(c, QUERY_SNAPSHOT_REMOVE, lookup, NULL, err) < 0)
		return -1;
	return r.state == SNAPSHOT_MAKING ? 0
	                                  : add_snapshot_event(c, EVENT_SNAPSHOT_DELETED, &r, err);
}

int store_snapshot_remove(struct store *s, const char *id, struct error *err)
{
	return store_change(s, run_removal, LOOKUP(.id = id), err);
}

int store_snapshot_base(struct store *s, struct arena *a, const char *sandbox_id,
                        struct snapshot_base *ret, struct error *err)
{
	int found = store_find_query(s, QUERY_SNAPSHOT_BASE_FIND, LOOKUP(.id = sandbox_id),
	                             INTO(a, ret), err);

	if (found == 0)
		*ret = (struct snapshot_base){"", "", ""};
	return found < 0 ? -1 : 0;
}

int store_sandboxes_made_from(struct store *s, struct arena *a, const char *project_id,
                              const char *id, struct sandbox_list *ret, struct error *err)
{
	const struct fork_search search = {project_id, id, .limit = STORE_FORKS_MAX};

	return store_list_query(s, QUERY_SANDBOX_LIST_MADE_FROM, &search, LIST_INTO(a, ret), err);
}

int store_sandbox_forks(struct store *s, struct arena *a, const struct fork_search *search,
                        struct sandbox_list *ret, struct error *err)
{
	struct fork_search bounded = *search;

	if (bounded.limit < 1 || bounded.limit > STORE_FORKS_MAX)
		bounded.limit = STORE_FORKS_MAX;
	return store_list_query(s, QUERY_SANDBOX_LIST_FORKS, &bounded, LIST_INTO(a, ret), err);
}

int store_sandbox_parent(struct store *s, struct arena *a, const char *sandbox_id, const char **ret,
                         struct error *err)
{
	struct snapshot_record origin;
	struct snapshot_base base;

	if (store_snapshot_base(s, a, sandbox_id, &base, err) < 0)
		return -1;
	*ret = "";
	if (!base.origin_id[0])
		return 0;
	if (store_snapshot_find(s, a, NULL, base.origin_id, &origin, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return 0;
	}
	if (strcmp(origin.name, origin.id) == 0)
		*ret = origin.sandbox_id;
	return 0;
}

int snapshot_run_origin(struct store_connection *c, const char *sandbox_id, const char *snapshot_id,
                        struct error *err)
{
	const struct snapshot_base base = {sandbox_id, snapshot_id, snapshot_id};

	return query_run(c, QUERY_SNAPSHOT_BASE_SET, &base, NULL, err) < 0 ? -1 : 0;
}

/* Lazy: it only records where files came from; the files do not depend on it. */
int store_snapshot_set_base(struct store *s, const char *sandbox_id, const char *snapshot_id,
                            struct error *err)
{
	const struct snapshot_base base = {sandbox_id, snapshot_id, ""};

	return store_change_query_lazily(s, QUERY_SNAPSHOT_BASE_SET, &base, err) < 0 ? -1 : 0;
}
