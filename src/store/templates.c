/* SPDX-License-Identifier: Apache-2.0 */
#include "store/templates.h"

#include <string.h>

#include "store/column_rows.h"
#include "sandbox/events.h"
#include "store/event_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

TEXTS_OF(template_state, TEMPLATE_FAILED + 1, [TEMPLATE_PENDING] = "pending",
         [TEMPLATE_BUILDING] = "building", [TEMPLATE_READY] = "ready", [TEMPLATE_FAILED] = "failed")

COLUMNS_OF(template_record);

void template_record_own(struct arena *a, struct template_record *r)
{
	columns_own(columns_of_template_record, a, r);
}

struct template_seen {
	enum template_state state;
};

COLUMNS_OF(template_seen);
COLUMNS_OF(template_move);
COLUMNS_OF(template_succession);

struct template_use {
	const char *id;
	int64_t now, before;
};

COLUMNS_OF(template_use);
COLUMNS_OF(pulled_filter);

static int fail_missing(const char *id, struct error *err)
{
	return FAIL_MISSING(err, "template", id);
}

static int add_any_template_event(struct store_connection *c, enum event_kind kind,
                                  const struct template_record *r, struct error *err)
{
	return event_add_about(
	        c, kind, &(struct event_subject){.project_id = r->project_id, .name = r->name},
	        err);
}

/* Shared templates come with the program and add no event. */
static int add_template_event(struct store_connection *c, enum event_kind kind,
                              const struct template_record *r, struct error *err)
{
	if (!r->project_id || !*r->project_id)
		return 0;
	return add_any_template_event(c, kind, r, err);
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct template_record *r = context;

	if (ROW_OR(query_run(c, QUERY_TEMPLATE_INSERT, r, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "a template named '%s' exists already", r->name)) < 0)
		return -1;
	return add_template_event(c, EVENT_TEMPLATE_CREATED, r, err);
}

int store_template_insert(struct store *s, const struct template_record *r, struct error *err)
{
	return store_change(s, run_insertion, r, err);
}

int store_template_find(struct store *s, struct arena *a, const char *project_id,
                        const char *name_or_id, struct template_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_TEMPLATE_FIND,
	                               LOOKUP(.project_id = project_id, .id = name_or_id),
	                               INTO(a, ret), err),
	              fail_missing(name_or_id, err));
}

int store_template_list(struct store *s, struct arena *a, const char *project_id,
                        struct template_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_TEMPLATE_LIST, LOOKUP(.project_id = project_id),
	                        LIST_INTO(a, ret), err);
}

int template_run_exists(struct store_connection *c, const char *id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct template_seen seen;

	return query_find(c, QUERY_TEMPLATE_STATE, LOOKUP(.id = id), INTO(&arena, &seen), err);
}

struct template_attempt {
	enum query_name query;
	const void *takes;
	enum query_name look;
	struct record_lookup lookup;
	const char *refusal;
};

/* Fills err with why the change matched no row. Always -1. */
static int refuse_attempt(struct store_connection *c, const struct template_attempt *attempt,
                          struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct template_seen seen;

	if (ROW_OR(query_find(c, attempt->look, &attempt->lookup, INTO(&arena, &seen), err),
	           fail_missing(attempt->lookup.id, err)) < 0)
		return -1;
	return FAIL(err, ERROR_CONFLICT, "template '%s' %s", attempt->lookup.id, attempt->refusal);
}

static int run_attempt(struct store_connection *c, const struct template_attempt *attempt,
                       struct error *err)
{
	return ROW_OR(query_run(c, attempt->query, attempt->takes, NULL, err),
	              refuse_attempt(c, attempt, err));
}

/* Every project sees the moves of a shared template, whose event has no project. */
static int run_move(struct store_connection *c, void *context, struct error *err)
{
	static const enum event_kind kinds[] = {[TEMPLATE_BUILDING] = EVENT_TEMPLATE_BUILDING,
	                                        [TEMPLATE_READY] = EVENT_TEMPLATE_READY,
	                                        [TEMPLATE_FAILED] = EVENT_TEMPLATE_FAILED};
	const struct template_attempt *attempt = context;
	const struct template_move *move = attempt->takes;
	AUTO(arena_done) struct arena arena = {0};
	struct template_record r;
	int found;

	if (run_attempt(c, attempt, err) < 0)
		return -1;
	if (move->from == move->to || move->to == TEMPLATE_PENDING)
		return 0;
	found = query_find(c, QUERY_TEMPLATE_FIND, &attempt->lookup, INTO(&arena, &r), err);
	/* A project's own template precedes a shared one, even when its name equals a shared
	 * template's id. */
	if (found <= 0 || strcmp(r.id, move->id) != 0)
		return found < 0 ? -1 : 0;
	return add_any_template_event(c, kinds[move->to], &r, err);
}

int store_template_move(struct store *s, const struct template_move *move, struct error *err)
{
	struct template_attempt attempt = {
	        .query = QUERY_TEMPLATE_MOVE,
	        .takes = move,
	        .look = QUERY_TEMPLATE_STATE,
	        .lookup = {.id = move->id},
	        .refusal = "is in another state",
	};

	return store_transact(
	        s, &(struct transaction){run_move, &attempt, .is_lazy = move->from == move->to},
	        err);
}

static int run_touch(struct store_connection *c, void *context, struct error *err)
{
	return query_run(c, QUERY_TEMPLATE_TOUCH, context, NULL, err) < 0 ? -1 : 0;
}

static int run_succeed(struct store_connection *c, void *context, struct error *err)
{
	if (query_run(c, QUERY_TEMPLATE_STEP_ASIDE, context, NULL, err) < 0 ||
	    query_run(c, QUERY_TEMPLATE_SUCCEED, context, NULL, err) < 0)
		return -1;
	return 0;
}

int store_template_succeed(struct store *s, const struct template_succession *succession,
                           struct error *err)
{
	return store_change(s, run_succeed, succession, err);
}

int store_template_touch(struct store *s, const char *id, int64_t now, struct error *err)
{
	const struct template_use use = {id, now, now - TEMPLATE_USED_WITHIN_MS};

	return store_change_lazily(s, run_touch, &use, err);
}

static int run_touch_pulled(struct store_connection *c, void *context, struct error *err)
{
	return query_run(c, QUERY_TEMPLATE_TOUCH_PULLED, context, NULL, err) < 0 ? -1 : 0;
}

int store_template_touch_pulled(struct store *s, int64_t now, struct error *err)
{
	const struct template_use use = {.now = now, .before = now - TEMPLATE_USED_WITHIN_MS};

	return store_change_lazily(s, run_touch_pulled, &use, err);
}

int store_template_pulled_list(struct store *s, struct arena *a, const struct pulled_filter *filter,
                               struct template_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_TEMPLATE_PULLED_LIST, filter, LIST_INTO(a, ret), err);
}

static int run_update(struct store_connection *c, void *context, struct error *err)
{
	const struct template_record *r = context;

	if (ROW_OR(query_run(c, QUERY_TEMPLATE_UPDATE, r, NULL, err), fail_missing(r->id, err)) < 0)
		return -1;
	return add_template_event(c, EVENT_TEMPLATE_UPDATED, r, err);
}

int store_template_update(struct store *s, const struct template_record *r, struct error *err)
{
	return store_change(s, run_update, r, err);
}

int store_template_shares(struct store *s, const char *folder, bool *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct template_seen seen;
	int found = store_find_query(s, QUERY_TEMPLATE_SHARES, LOOKUP(.id = folder),
	                             INTO(&arena, &seen), err);

	if (found < 0)
		return -1;
	*ret = found > 0;
	return 0;
}

static int run_removal(struct store_connection *c, void *context, struct error *err)
{
	const struct template_attempt *attempt = context;
	AUTO(arena_done) struct arena arena = {0};
	struct template_record r;
	int found = query_find(c, QUERY_TEMPLATE_FIND, &attempt->lookup, INTO(&arena, &r), err);

	if (found < 0 || run_attempt(c, attempt, err) < 0)
		return -1;
	return found > 0 ? add_template_event(c, EVENT_TEMPLATE_DELETED, &r, err) : 0;
}

int store_template_remove(struct store *s, const char *project_id, const char *id,
                          struct error *err)
{
	struct template_attempt attempt = {
	        .query = QUERY_TEMPLATE_REMOVE,
	        .takes = &attempt.lookup,
	        .look = QUERY_TEMPLATE_OWNED,
	        .lookup = {.project_id = project_id, .id = id},
	        .refusal = "is used by a sandbox, a snapshot, or a template that was built on it",
	};

	return store_change(s, run_removal, &attempt, err);
}
