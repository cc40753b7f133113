/* SPDX-License-Identifier: Apache-2.0 */
#include "store/consents.h"

#include "store/column_rows.h"
#include "store/query.h"
#include "store/sandbox_record.h"

COLUMNS_OF(authority_record);
COLUMNS_OF(consent_record);
COLUMNS_OF(consent_ref);

int store_consent_insert(struct store *s, const struct consent_record *r, struct error *err)
{
	return store_change_query(s, QUERY_CONSENT_INSERT, r, err) < 0 ? -1 : 0;
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

int store_consent_revoke(struct store *s, const struct consent_ref *ref, struct error *err)
{
	return store_change_query(s, QUERY_CONSENT_REVOKE, ref, err);
}

static int run_purge(struct store_connection *c, void *context, struct error *err)
{
	if (query_run(c, QUERY_CONSENT_PURGE, context, NULL, err) < 0)
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
