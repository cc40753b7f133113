/* SPDX-License-Identifier: Apache-2.0 */
#include "store/webhooks.h"

#include "base/bytes.h"
#include "store/column_rows.h"
#include "store/event_rows.h"
#include "store/pages.h"
#include "store/query.h"
#include "store/transaction_parts.h"

NAMES_OF(delivery_state, DELIVERY_STATE_COUNT, [DELIVERY_WAITING] = "waiting",
         [DELIVERY_DELIVERED] = "delivered", [DELIVERY_DEAD] = "dead")

COLUMNS_OF(webhook_record);
COLUMNS_OF(webhook_cursor);
COLUMNS_OF(webhook_dispatch);
COLUMNS_OF(delivery_record);
COLUMNS_OF(delivery_claim);
COLUMNS_OF(delivery_end);
COLUMNS_OF(delivery_ref);
COLUMNS_OF(delivery_page);
COLUMNS_OF(delivery_retention);

/* A change of a webhook; it also increments the change count, which notifies other servers. */
struct webhook_change {
	enum query_name query;
	const void *takes;
	const char *id;
	unsigned webhooks_max; /* 0 = no limit */
	const char *project_id;
	enum event_kind told;
};

static int check_count(struct store_connection *c, const struct webhook_change *change,
                       struct error *err)
{
	if (change->webhooks_max == 0)
		return 0;
	return project_check_count(c, QUERY_WEBHOOK_COUNT, change->project_id, change->webhooks_max,
	                           "webhooks", err);
}

static int run_change(struct store_connection *c, void *context, struct error *err)
{
	const struct webhook_change *change = context;

	/* First, so that a new webhook does not get the event of its own making. The id alone: an
	 * address may hold a secret. */
	if (event_add_about(c, change->told,
	                    &(struct event_subject){change->project_id, NULL, change->id}, err) < 0)
		return -1;
	if (ROW_OR(query_run(c, change->query, change->takes, NULL, err),
	           FAIL_MISSING(err, "webhook", change->id)) < 0 ||
	    check_count(c, change, err) < 0)
		return -1;
	return query_run(c, QUERY_WEBHOOK_CHANGED, NULL, NULL, err) < 0 ? -1 : 0;
}

int store_webhook_insert(struct store *s, const struct webhook_record *r, unsigned webhooks_max,
                         struct error *err)
{
	const struct webhook_change change = {
	        QUERY_WEBHOOK_INSERT, r, r->id, webhooks_max, r->project_id, EVENT_WEBHOOK_CREATED};

	return store_change(s, run_change, &change, err);
}

int store_webhook_update(struct store *s, const struct webhook_record *r, struct error *err)
{
	const struct webhook_change change = {QUERY_WEBHOOK_UPDATE, r, r->id, 0, r->project_id,
	                                      EVENT_WEBHOOK_UPDATED};

	return store_change(s, run_change, &change, err);
}

int store_webhook_disable(struct store *s, const struct webhook_record *r, struct error *err)
{
	const struct webhook_change change = {QUERY_WEBHOOK_DISABLE, r, r->id, 0, r->project_id,
	                                      EVENT_WEBHOOK_DISABLED};

	return store_change(s, run_change, &change, err);
}

int store_webhook_remove(struct store *s, const char *project_id, const char *id, struct error *err)
{
	const struct record_lookup lookup = {.project_id = project_id, .id = id};
	const struct webhook_change change = {QUERY_WEBHOOK_REMOVE, &lookup, id, 0, project_id,
	                                      EVENT_WEBHOOK_DELETED};

	return store_change(s, run_change, &change, err);
}

int store_webhook_find(struct store *s, struct arena *a, const char *project_id, const char *id,
                       struct webhook_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_WEBHOOK_FIND,
	                               LOOKUP(.project_id = project_id, .id = id), INTO(a, ret),
	                               err),
	              FAIL_MISSING(err, "webhook", id));
}

int store_webhook_list(struct store *s, struct arena *a, const char *project_id,
                       struct webhook_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_WEBHOOK_LIST, LOOKUP(.project_id = project_id),
	                        LIST_INTO(a, ret), err);
}

int store_webhook_cursor(struct store *s, struct webhook_cursor *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};

	return ROW_OR(store_find_query(s, QUERY_WEBHOOK_CURSOR, NULL, INTO(&arena, ret), err),
	              FAIL(err, ERROR_SYSTEM, "the database has no cursor of webhooks"));
}

static int run_dispatch(struct store_connection *c, void *context, struct error *err)
{
	const struct webhook_dispatch *d = context;

	if (ROW_OR(query_run(c, QUERY_WEBHOOK_ADVANCE, d, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "another server has looked at these events")) < 0)
		return -1;
	for (size_t i = 0; i < d->count; i++)
		if (query_run(c, QUERY_DELIVERY_INSERT, &d->items[i], NULL, err) < 0)
			return -1;
	return 0;
}

int store_webhook_dispatch(struct store *s, const struct webhook_dispatch *d, struct error *err)
{
	/* Lazy: after a crash it is repeated, because events and cursor are in the same
	 * database. */
	return store_change_lazily(s, run_dispatch, d, err);
}

int store_delivery_next(struct store *s, struct arena *a, const char *webhook_id, int64_t now,
                        struct delivery_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_DELIVERY_NEXT, LOOKUP(.id = webhook_id, .now = now),
	                               INTO(a, ret), err),
	              FAIL(err, ERROR_NOT_FOUND, "no delivery is due"));
}

int store_delivery_next_at(struct store *s, const char *webhook_id, int64_t *ret, struct error *err)
{
	return store_count_query(s, QUERY_DELIVERY_NEXT_AT, LOOKUP(.id = webhook_id), ret, err);
}

struct attempt_query {
	enum query_name query;
	const void *takes;
};

static int run_attempt(struct store_connection *c, void *context, struct error *err)
{
	const struct attempt_query *attempt = context;

	return ROW_OR(query_run(c, attempt->query, attempt->takes, NULL, err),
	              FAIL(err, ERROR_CONFLICT, "this attempt is over"));
}

/* Lazy: an attempt that a crash loses is repeated. */
static int change_attempt(struct store *s, enum query_name query, const void *takes,
                          struct error *err)
{
	struct attempt_query attempt = {query, takes};

	return store_change_lazily(s, run_attempt, &attempt, err);
}

int store_delivery_claim(struct store *s, const struct delivery_claim *claim, struct error *err)
{
	return change_attempt(s, QUERY_DELIVERY_CLAIM, claim, err);
}

int store_delivery_release(struct store *s, const char *node, int64_t now, struct error *err)
{
	const struct delivery_claim claim = {.node = node, .until = now};

	return store_change_query(s, QUERY_DELIVERY_RELEASE, &claim, err) < 0 ? -1 : 0;
}

int store_delivery_end(struct store *s, const struct delivery_end *end, struct error *err)
{
	return change_attempt(s, QUERY_DELIVERY_END, end, err);
}

static int run_retry(struct store_connection *c, void *context, struct error *err)
{
	const struct delivery_ref *ref = context;

	if (ROW_OR(query_run(c, QUERY_DELIVERY_RETRY, ref, NULL, err),
	           FAIL_MISSING(err, "delivery", ref->id)) < 0)
		return -1;
	return query_run(c, QUERY_WEBHOOK_CHANGED, NULL, NULL, err) < 0 ? -1 : 0;
}

int store_delivery_retry(struct store *s, const struct delivery_ref *ref, struct error *err)
{
	return store_change(s, run_retry, ref, err);
}

struct dead_retry {
	const struct delivery_ref *ref;
	int count;
};

static int run_retry_dead(struct store_connection *c, void *context, struct error *err)
{
	struct dead_retry *retry = context;

	retry->count = query_run(c, QUERY_DELIVERY_RETRY_DEAD, retry->ref, NULL, err);
	if (retry->count < 0)
		return -1;
	return query_run(c, QUERY_WEBHOOK_CHANGED, NULL, NULL, err) < 0 ? -1 : 0;
}

int store_delivery_retry_dead(struct store *s, const struct delivery_ref *ref, struct error *err)
{
	struct dead_retry retry = {.ref = ref};

	return store_change(s, run_retry_dead, &retry, err) < 0 ? -1 : retry.count;
}

int store_delivery_list(struct store *s, struct arena *a, const struct delivery_page *page,
                        struct delivery_list *ret, struct error *err)
{
	struct delivery_page copy = *page;

	copy.before = page->before > 0 ? page->before : INT64_MAX;
	copy.limit = list_limit(page->limit);
	return store_list_query(s, QUERY_DELIVERY_LIST, &copy, LIST_INTO(a, ret), err);
}

int store_delivery_purge(struct store *s, const struct delivery_retention *keep, struct error *err)
{
	return store_change_query(s, QUERY_DELIVERY_PURGE, keep, err) < 0 ? -1 : 0;
}
