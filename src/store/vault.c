/* SPDX-License-Identifier: Apache-2.0 */
#include "store/vault.h"

#include "store/column_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

COLUMNS_OF(vault_record);

static int fail_missing(const char *name, struct error *err)
{
	return FAIL_MISSING(err, "secret", name);
}

static int run_insert(struct store_connection *c, void *context, struct error *err)
{
	const struct vault_record *r = context;

	if (project_lock(c, r->project_id, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_VAULT_INSERT, r, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "there is a secret '%.128s' already", r->name)) < 0)
		return -1;
	return project_check_count(c, QUERY_VAULT_COUNT, r->project_id, STORE_VAULT_MAX, "secrets",
	                           err);
}

int store_vault_insert(struct store *s, const struct vault_record *r, struct error *err)
{
	return store_change(s, run_insert, r, err);
}

struct vault_update {
	enum query_name query;
	const struct vault_record *record;
	struct arena *arena;
	struct vault_record *ret;
};

static int run_update(struct store_connection *c, void *context, struct error *err)
{
	const struct vault_update *updating = context;

	return ROW_OR(query_find(c, updating->query, updating->record,
	                         INTO(updating->arena, updating->ret), err),
	              fail_missing(updating->record->id, err));
}

int store_vault_update(struct store *s, struct arena *a, const struct vault_record *r,
                       struct vault_record *ret, struct error *err)
{
	const struct vault_update updating = {QUERY_VAULT_UPDATE, r, a, ret};

	return store_change(s, run_update, &updating, err);
}

int store_vault_describe(struct store *s, struct arena *a, const struct vault_record *r,
                         struct vault_record *ret, struct error *err)
{
	const struct vault_update updating = {QUERY_VAULT_DESCRIBE, r, a, ret};

	return store_change(s, run_update, &updating, err);
}

int store_vault_find(struct store *s, struct arena *a, const char *project_id,
                     const char *id_or_name, struct vault_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_VAULT_FIND,
	                               LOOKUP(.project_id = project_id, .id = id_or_name),
	                               INTO(a, ret), err),
	              fail_missing(id_or_name, err));
}

int store_vault_list(struct store *s, struct arena *a, const char *project_id,
                     struct vault_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_VAULT_LIST, LOOKUP(.project_id = project_id),
	                        LIST_INTO(a, ret), err);
}

int store_vault_remove(struct store *s, const char *project_id, const char *id_or_name,
                       struct error *err)
{
	return ROW_OR(store_change_query(s, QUERY_VAULT_REMOVE,
	                                 LOOKUP(.project_id = project_id, .id = id_or_name), err),
	              fail_missing(id_or_name, err));
}
