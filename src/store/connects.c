/* SPDX-License-Identifier: Apache-2.0 */
#include "store/connects.h"

#include "store/column_rows.h"
#include "store/credentials.h"
#include "store/event_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

NAMES_OF(connect_method, CONNECT_METHOD_COUNT, [CONNECT_CODE] = "code", [CONNECT_DEVICE] = "device",
         [CONNECT_CLIENT] = "client")
NAMES_OF(
        connect_state,
        CONNECT_STATE_COUNT, [CONNECT_PENDING] = "pending", [CONNECT_EXCHANGING] = "exchanging",
        [CONNECT_DONE] = "done", [CONNECT_FAILED] = "failed", [CONNECT_NEEDS_LOGIN] = "needs_login")

COLUMNS_OF(connect_record);
COLUMNS_OF(connect_ref);

static int fail_missing(const char *id, struct error *err)
{
	return FAIL_MISSING(err, "connect", id);
}

static int run_insert(struct store_connection *c, void *context, struct error *err)
{
	const struct connect_record *r = context;
	const struct connect_ref owner = {r->project_id, r->owner_id, ""};
	int64_t count;

	if (project_lock(c, r->project_id, err) < 0 ||
	    query_run(c, QUERY_CONNECT_INSERT, r, NULL, err) < 0 ||
	    query_count(c, QUERY_CONNECT_COUNT, &owner, &count, err) < 0)
		return -1;
	if (count > STORE_CONNECTS_MAX)
		return FAIL(err, ERROR_LIMIT, "%s has %d connects already; delete unused ones",
		            r->owner_id[0] ? "the user" : "the project", STORE_CONNECTS_MAX);
	return 0;
}

int store_connect_insert(struct store *s, const struct connect_record *r, struct error *err)
{
	return store_change(s, run_insert, r, err);
}

int store_connect_find(struct store *s, struct arena *a, const struct connect_ref *ref,
                       struct connect_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_CONNECT_FIND, ref, INTO(a, ret), err),
	              fail_missing(ref->id, err));
}

int store_connect_find_by_state(struct store *s, struct arena *a, const char *state_hash,
                                struct connect_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_CONNECT_FIND_BY_STATE, LOOKUP(.id = state_hash),
	                               INTO(a, ret), err),
	              FAIL(err, ERROR_NOT_FOUND, "no connect waits for this answer"));
}

int store_connect_list(struct store *s, struct arena *a, const struct connect_ref *owner,
                       struct connect_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_CONNECT_LIST, owner, LIST_INTO(a, ret), err);
}

int store_connect_due(struct store *s, struct arena *a, int64_t now, struct connect_list *ret,
                      struct error *err)
{
	return store_list_query(s, QUERY_CONNECT_DUE, LOOKUP(.now = now), LIST_INTO(a, ret), err);
}

struct connect_change {
	const struct connect_record *record;
	const struct credential_record *credential; /* NULL: none */
};

static int fail_changed(const char *name, struct error *err)
{
	return FAIL(err, ERROR_CONFLICT, "credential '%.64s' was changed or deleted meanwhile",
	            name);
}

static int write_credential(struct store_connection *c, const struct credential_record *r,
                            struct error *err)
{
	const struct credential_ref ref = {r->project_id, r->owner_id, r->name};
	struct credential_record was, ignored;
	AUTO(arena_done) struct arena arena = {0};

	if (r->revision == 0)
		return credential_run_insertion(c, r, err) < 0
		               ? -1
		               : credential_tell(c, EVENT_CREDENTIAL_CREATED, r, err);
	if (ROW_OR(query_find(c, QUERY_CREDENTIAL_FIND, &ref, INTO(&arena, &was), err),
	           fail_changed(r->name, err)) < 0 ||
	    ROW_OR(query_find(c, QUERY_CREDENTIAL_UPDATE, r, INTO(&arena, &ignored), err),
	           fail_changed(r->name, err)) < 0)
		return -1;
	/* A renewal comes each hour and keeps the version: it is no event. A new login is one. */
	return was.version == r->version ? 0 : credential_tell(c, EVENT_CREDENTIAL_UPDATED, r, err);
}

static int run_change(struct store_connection *c, void *context, struct error *err)
{
	const struct connect_change *change = context;

	if (ROW_OR(query_run(c, QUERY_CONNECT_UPDATE, change->record, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "connect '%s' was changed or deleted meanwhile",
	                change->record->id)) < 0)
		return -1;
	if (!change->credential)
		return 0;
	if (query_run(c, QUERY_CONNECT_REMOVE_OTHERS, change->record, NULL, err) < 0)
		return -1;
	return write_credential(c, change->credential, err);
}

int store_connect_finish(struct store *s, struct connect_record *r,
                         const struct credential_record *credential, struct error *err)
{
	const struct connect_change change = {r, credential};

	if (store_change(s, run_change, &change, err) < 0)
		return -1;
	r->revision++;
	return 0;
}

int store_connect_update(struct store *s, struct connect_record *r, struct error *err)
{
	return store_connect_finish(s, r, NULL, err);
}

static int run_removal(struct store_connection *c, void *context, struct error *err)
{
	const struct connect_record *r = context;

	if (ROW_OR(query_run(c, QUERY_CONNECT_REMOVE, r, NULL, err), fail_missing(r->id, err)) < 0)
		return -1;
	return query_run(c, QUERY_CONNECT_REMOVE_CREDENTIAL, r, NULL, err) < 0 ? -1 : 0;
}

int store_connect_remove(struct store *s, const struct connect_record *r, struct error *err)
{
	return store_change(s, run_removal, r, err);
}

int store_connect_purge(struct store *s, int64_t before, struct error *err)
{
	return store_change_query_lazily(s, QUERY_CONNECT_PURGE, LOOKUP(.now = before), err) < 0
	               ? -1
	               : 0;
}
