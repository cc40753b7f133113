/* SPDX-License-Identifier: Apache-2.0 */
#include "store/approvals.h"

#include "base/bytes.h"
#include "store/column_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

NAMES_OF(approval_state, APPROVAL_STATE_COUNT, "pending", "approved", "refused", "used")

COLUMNS_OF(approval_record);
COLUMNS_OF(approval_filter);
COLUMNS_OF(approval_decision);

struct approval_insertion {
	const struct approval_record *record;
	unsigned pending_max;
};

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct approval_insertion *in = context;
	const struct approval_record *r = in->record;
	int64_t pending;

	if (project_lock(c, r->project_id, err) < 0 ||
	    query_count(c, QUERY_APPROVAL_COUNT,
	                LOOKUP(.project_id = r->project_id, .now = r->created_at), &pending,
	                err) < 0)
		return -1;
	if (pending >= in->pending_max)
		return FAIL(err, ERROR_LIMIT, "%u tool calls wait for approval already",
		            in->pending_max);
	return query_run(c, QUERY_APPROVAL_INSERT, r, NULL, err) < 0 ? -1 : 0;
}

int store_approval_insert(struct store *s, const struct approval_record *r, unsigned pending_max,
                          struct error *err)
{
	struct approval_insertion insertion = {r, pending_max};

	return store_change(s, run_insertion, &insertion, err);
}

static int find_approval(struct store *s, struct arena *a, enum query_name query, const void *takes,
                         struct approval_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, query, takes, INTO(a, ret), err),
	              FAIL(err, ERROR_NOT_FOUND, "no such approval"));
}

int store_approval_find(struct store *s, struct arena *a, const char *project_id, const char *id,
                        struct approval_record *ret, struct error *err)
{
	return find_approval(s, a, QUERY_APPROVAL_FIND, LOOKUP(.project_id = project_id, .id = id),
	                     ret, err);
}

int store_approval_match(struct store *s, struct arena *a, const struct approval_record *wanted,
                         struct approval_record *ret, struct error *err)
{
	return find_approval(s, a, QUERY_APPROVAL_MATCH, wanted, ret, err);
}

int store_approval_list(struct store *s, struct arena *a, const struct approval_filter *filter,
                        struct approval_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_APPROVAL_LIST, filter, LIST_INTO(a, ret), err);
}

int store_approval_decide(struct store *s, const struct approval_decision *decision,
                          struct error *err)
{
	return ROW_OR(store_change_query(s, QUERY_APPROVAL_DECIDE, decision, err),
	              FAIL(err, ERROR_CONFLICT, "approval '%s' is not %s any more", decision->id,
	                   approval_state_name(decision->from)));
}

int store_approval_purge(struct store *s, int64_t before, struct error *err)
{
	return store_change_query(s, QUERY_APPROVAL_PURGE, LOOKUP(.now = before), err) < 0 ? -1 : 0;
}
