/* SPDX-License-Identifier: Apache-2.0 */
#include "store/leases.h"

#include <inttypes.h>

#include "store/column_rows.h"
#include "sandbox/events.h"
#include "store/event_rows.h"
#include "store/pages.h"
#include "store/query.h"
#include "store/transaction_parts.h"
#include "store/touches.h"

WORDS_OF(lease_status, LEASE_STATUS_COUNT)
WORDS_OF(sandbox_state, SANDBOX_STATE_COUNT)

struct lease_page {
	const char *project_id, *prefix, *after;
	int64_t limit;
};

COLUMNS_OF(lease_record);
COLUMNS_OF(lease_page);
COLUMNS_OF(lease_stray);

static void add_touch(struct store *s, struct lease_record *r)
{
	r->sandbox_activity_at =
	        touches_latest(s, TOUCHED_SANDBOX, r->sandbox_id, r->sandbox_activity_at);
}

static int read_leases(struct store *s, struct arena *a, enum query_name query, const void *takes,
                       struct lease_list *ret, struct error *err)
{
	if (store_list_query(s, query, takes, LIST_INTO(a, ret), err) < 0)
		return -1;
	for (size_t i = 0; i < ret->count; i++)
		add_touch(s, &ret->items[i]);
	return 0;
}

int store_lease_find(struct store *s, struct arena *a, const struct lease_ref *ref,
                     struct lease_record *ret, struct error *err)
{
	const struct lease_record wanted = {.project_id = ref->project_id, .key = ref->key};
	struct lease_list found;

	if (read_leases(s, a, QUERY_LEASE_FIND, &wanted, &found, err) < 0)
		return -1;
	if (found.count == 0)
		return FAIL_MISSING(err, "lease", ref->key);
	*ret = found.items[0];
	return 0;
}

int store_lease_list(struct store *s, struct arena *a, const struct lease_filter *filter,
                     struct lease_list *ret, struct error *err)
{
	unsigned limit = list_limit(filter->limit);
	const struct lease_page page = {
	        .project_id = filter->project_id,
	        .prefix = filter->prefix,
	        .after = filter->after,
	        .limit = (int64_t)limit + 1, /* one more tells whether there is more */
	};

	if (read_leases(s, a, QUERY_LEASE_LIST, &page, ret, err) < 0)
		return -1;
	if (ret->count > limit) {
		ret->count = limit;
		ret->next = ret->items[limit - 1].key;
	}
	return 0;
}

int store_lease_unsound(struct store *s, struct arena *a, int64_t before, struct lease_list *ret,
                        struct error *err)
{
	return read_leases(s, a, QUERY_LEASE_UNSOUND, LOOKUP(.now = before), ret, err);
}

int store_lease_overdue(struct store *s, struct arena *a, int64_t before, struct lease_list *ret,
                        struct error *err)
{
	return read_leases(s, a, QUERY_LEASE_OVERDUE, LOOKUP(.now = before), ret, err);
}

struct lease_change {
	enum query_name query;
	const struct lease_record *record;
	const char *conflict; /* the error when no row matched */
	bool *ret_lost;       /* set when no row matched; may be NULL */
};

static int check_sessions(struct store_connection *c, const struct lease_record *r,
                          struct error *err)
{
	int64_t count;

	if (r->sessions_max == 0)
		return 0;
	if (query_count(c, QUERY_LEASE_COUNT_SESSIONS, r, &count, err) < 0)
		return -1;
	if (count > r->sessions_max)
		return FAIL(err, ERROR_LIMIT, "the project has %" PRId64 " sessions already",
		            r->sessions_max);
	return 0;
}

/* Intermediate changes of a lease add no event. */
static int add_lease_event(struct store_connection *c, const struct lease_change *change,
                           struct error *err)
{
	const struct lease_record *r = change->record;
	const struct event_subject subject = {r->project_id, r->sandbox_id, r->key};

	if (change->query == QUERY_LEASE_FINISH || r->is_reset)
		return event_add_about(c, EVENT_LEASE_ACQUIRED, &subject, err);
	if (change->query == QUERY_LEASE_REMOVE)
		return event_add_about(c, EVENT_LEASE_DELETED, &subject, err);
	return r->is_release ? event_add_about(c, EVENT_LEASE_RELEASED, &subject, err) : 0;
}

static int run_change(struct store_connection *c, void *context, struct error *err)
{
	const struct lease_change *change = context;
	int count = query_run(c, change->query, change->record, NULL, err);

	if (count < 0)
		return -1;
	if (change->ret_lost)
		*change->ret_lost = count == 0;
	if (count == 0)
		return FAIL(err, ERROR_CONFLICT, "lease '%.100s' %s", change->record->key,
		            change->conflict);
	if (add_lease_event(c, change, err) < 0)
		return -1;
	if (change->record->status != LEASE_CREATING || change->query == QUERY_LEASE_FINISH ||
	    change->query == QUERY_LEASE_REMOVE)
		return 0;
	if (check_sessions(c, change->record, err) < 0)
		return -1;
	return query_run(c, QUERY_LEASE_SANDBOX_INSERT, change->record, NULL, err) < 0 ? -1 : 0;
}

static int change_lease(struct store *s, const struct lease_change *change, struct error *err)
{
	return store_change_lazily(s, run_change, change, err);
}

static const char exists[] = "exists already", changed[] = "was changed meanwhile",
                  taken_over[] = "was taken over meanwhile";

int store_lease_insert(struct store *s, const struct lease_record *r, struct error *err)
{
	return change_lease(s, &(struct lease_change){QUERY_LEASE_INSERT, r, exists, NULL}, err);
}

int store_lease_replace(struct store *s, const struct lease_record *r, struct error *err)
{
	return change_lease(s, &(struct lease_change){QUERY_LEASE_REPLACE, r, changed, NULL}, err);
}

int store_lease_finish(struct store *s, const struct lease_record *r, struct error *err)
{
	return change_lease(s, &(struct lease_change){QUERY_LEASE_FINISH, r, taken_over, NULL},
	                    err);
}

int lease_run_claim(struct store_connection *c, const struct lease_record *r, bool *ret_lost,
                    struct error *err)
{
	struct lease_change insert = {QUERY_LEASE_INSERT, r, exists, ret_lost};
	struct lease_change replace = {QUERY_LEASE_REPLACE, r, changed, ret_lost};

	return run_change(c, r->lock_version == 0 ? &insert : &replace, err);
}

int lease_run_finish(struct store_connection *c, const struct lease_record *r, bool *ret_lost,
                     struct error *err)
{
	struct lease_change finish = {QUERY_LEASE_FINISH, r, taken_over, ret_lost};

	if (run_change(c, &finish, err) == 0)
		return 0;
	if (!*ret_lost)
		return -1;
	error_clear(err);
	return 0;
}

int store_lease_remove(struct store *s, const struct lease_record *r, struct error *err)
{
	return change_lease(s, &(struct lease_change){QUERY_LEASE_REMOVE, r, changed, NULL}, err);
}

int store_lease_purge(struct store *s, int64_t before, struct error *err)
{
	return store_change_query(s, QUERY_LEASE_PURGE, LOOKUP(.now = before), err) < 0 ? -1 : 0;
}

int store_lease_strays(struct store *s, struct arena *a, struct lease_stray_list *ret,
                       struct error *err)
{
	return store_list_query(s, QUERY_LEASE_STRAYS, NULL, LIST_INTO(a, ret), err);
}

/* Lazy: a row that a crash restores is found again. */
int store_lease_stray_forget(struct store *s, const char *sandbox_id, struct error *err)
{
	return store_change_query_lazily(s, QUERY_LEASE_SANDBOX_REMOVE, LOOKUP(.id = sandbox_id),
	                                 err) < 0
	               ? -1
	               : 0;
}
