/* SPDX-License-Identifier: Apache-2.0 */
#include "store/consents.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "json/write.h"
#include "store/column_rows.h"
#include "store/event_rows.h"
#include "store/query.h"
#include "store/sandbox_record.h"

COLUMNS_OF(authority_record);
COLUMNS_OF(consent_record);
COLUMNS_OF(consent_ref);

static int tell_consent(struct store_connection *c, enum event_kind kind,
                        const struct consent_record *r, struct error *err)
{
	AUTO(buf_done) struct buf detail = BUF(4096);
	struct event_record event = {
	        .at = clock_unix_ms(),
	        .project_id = r->project_id,
	        .sandbox_id = r->sandbox_id,
	        .kind = event_kind_name(kind),
	        .text = r->credential_name,
	};

	json_begin_object(&detail, NULL);
	json_add_text(&detail, "id", r->id);
	json_add_text(&detail, "conversationId", r->conversation_id);
	json_add_text(&detail, "approvalId", r->approval_id);
	json_end_object(&detail);
	event.detail = buf_text(&detail);
	return event_add(c, &event, err);
}

static int run_insert(struct store_connection *c, void *context, struct error *err)
{
	if (query_run(c, QUERY_CONSENT_INSERT, context, NULL, err) < 0)
		return -1;
	return tell_consent(c, EVENT_CONSENT_GIVEN, context, err);
}

int store_consent_insert(struct store *s, const struct consent_record *r, struct error *err)
{
	return store_change(s, run_insert, r, err);
}

int store_consent_list(struct store *s, struct arena *a, const struct consent_ref *ref,
                       struct consent_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_CONSENT_LIST, ref, LIST_INTO(a, ret), err);
}

int store_consent_active(struct store *s, struct arena *a, const char *sandbox_id, int64_t now,
                         struct consent_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_CONSENT_ACTIVE, LOOKUP(.id = sandbox_id, .now = now),
	                        LIST_INTO(a, ret), err);
}

struct consent_revocation {
	const struct consent_ref *ref;
	size_t count;
};

static int run_revoke(struct store_connection *c, void *context, struct error *err)
{
	struct consent_revocation *revocation = context;
	AUTO(arena_done) struct arena a = {0};
	struct consent_list found;

	if (query_list(c, QUERY_CONSENT_HOLDING, revocation->ref, LIST_INTO(&a, &found), err) < 0 ||
	    query_run(c, QUERY_CONSENT_REVOKE, revocation->ref, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++)
		if (tell_consent(c, EVENT_CONSENT_REVOKED, &found.items[i], err) < 0)
			return -1;
	revocation->count = found.count;
	return 0;
}

int store_consent_revoke(struct store *s, const struct consent_ref *ref, struct error *err)
{
	struct consent_revocation revocation = {.ref = ref};

	return store_change(s, run_revoke, &revocation, err) < 0 ? -1 : (int)revocation.count;
}

/* Of two servers that see the same row, one tells of it. */
static int run_expire(struct store_connection *c, void *context, struct error *err)
{
	const struct consent_record *r = context;
	int told = query_run(c, QUERY_CONSENT_TELL, LOOKUP(.id = r->id), NULL, err);

	return told > 0 ? tell_consent(c, EVENT_CONSENT_EXPIRED, r, err) : told;
}

int store_consent_expire(struct store *s, int64_t now, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct consent_list found;

	if (store_list_query(s, QUERY_CONSENT_EXPIRED, LOOKUP(.now = now), LIST_INTO(&a, &found),
	                     err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++)
		if (store_change(s, run_expire, &found.items[i], err) < 0)
			return -1;
	return 0;
}

static int run_purge(struct store_connection *c, void *context, struct error *err)
{
	if (query_run(c, QUERY_CONSENT_PURGE, context, NULL, err) < 0)
		return -1;
	if (query_run(c, QUERY_SECRET_WINDOW_PURGE, NULL, NULL, err) < 0)
		return -1;
	return query_run(c, QUERY_AUTHORITY_PURGE, NULL, NULL, err) < 0 ? -1 : 0;
}

int store_consent_purge(struct store *s, int64_t before, struct error *err)
{
	return store_change_lazily(s, run_purge, LOOKUP(.now = before), err);
}

int store_authority_find(struct store *s, struct arena *a, const char *sandbox_id,
                         struct authority_record *ret, bool *ret_found, struct error *err)
{
	int found = store_find_query(s, QUERY_AUTHORITY_FIND, LOOKUP(.id = sandbox_id),
	                             INTO(a, ret), err);

	if (found < 0)
		return -1;
	*ret_found = found > 0;
	return 0;
}

int store_authority_put(struct store *s, const struct authority_record *r, struct error *err)
{
	return store_change_query(s, QUERY_AUTHORITY_PUT, r, err) < 0 ? -1 : 0;
}

int store_sandbox_list_with_rules(struct store *s, struct arena *a, const char *node,
                                  struct sandbox_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_SANDBOX_LIST_WITH_RULES, LOOKUP(.id = node),
	                        LIST_INTO(a, ret), err);
}
