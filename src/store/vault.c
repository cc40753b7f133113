/* SPDX-License-Identifier: Apache-2.0 */
#include "store/vault.h"

#include "store/column_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

const struct column columns_of_vault_record[] = {
        TEXT_OF(vault_record, id),
        TEXT_OF(vault_record, project_id),
        TEXT_OF(vault_record, name),
        SECRET_OF(vault_record, value, "vault"),
        TEXT_OF(vault_record, metadata_json),
        WHOLE_OF(vault_record, version),
        WHOLE_OF(vault_record, created_at),
        WHOLE_OF(vault_record, updated_at),
        END,
};

static int fail_missing(const char *name, struct error *err)
{
	return FAIL(err, ERROR_NOT_FOUND, "no secret '%.128s'", name);
}

static int run_insert(struct store_connection *c, void *context, struct error *err)
{
	const struct vault_record *r = context;
	const struct record_lookup lookup = {.project_id = r->project_id};
	int64_t count;
	int added;

	if (project_lock(c, r->project_id, err) < 0)
		return -1;
	added = query_run(c, QUERY_VAULT_INSERT, r, NULL, err);
	if (added == 0)
		return FAIL(err, ERROR_CONFLICT, "there is a secret '%.128s' already", r->name);
	if (added < 0 || query_count(c, QUERY_VAULT_COUNT, &lookup, &count, err) < 0)
		return -1;
	if (count > STORE_VAULT_MAX)
		return FAIL(err, ERROR_LIMIT, "the project has %d secrets already",
		            STORE_VAULT_MAX);
	return 0;
}

int store_vault_insert(struct store *s, const struct vault_record *r, struct error *err)
{
	struct vault_record record = *r;

	return store_change(s, &(struct transaction){.run = run_insert, .context = &record}, err);
}

struct vault_update {
	enum query_name query;
	const struct vault_record *record;
	struct rows rows;
};

static int run_update(struct store_connection *c, void *context, struct error *err)
{
	struct vault_update *updating = context;

	updating->rows.count = 0;
	if (query_run(c, updating->query, updating->record, &updating->rows, err) < 0)
		return -1;
	return updating->rows.count > 0 ? 0 : fail_missing(updating->record->id, err);
}

static int update_entry(struct store *s, struct vault_update *updating, struct vault_record *ret,
                        struct error *err)
{
	if (store_change(s, &(struct transaction){.run = run_update, .context = updating}, err) < 0)
		return -1;
	*ret = *(struct vault_record *)updating->rows.items;
	return 0;
}

int store_vault_update(struct store *s, struct arena *a, const struct vault_record *r,
                       struct vault_record *ret, struct error *err)
{
	struct vault_update updating = {QUERY_VAULT_UPDATE, r, {.arena = a, .size = sizeof(*ret)}};

	return update_entry(s, &updating, ret, err);
}

int store_vault_describe(struct store *s, struct arena *a, const struct vault_record *r,
                         struct vault_record *ret, struct error *err)
{
	struct vault_update updating = {
	        QUERY_VAULT_DESCRIBE, r, {.arena = a, .size = sizeof(*ret)}};

	return update_entry(s, &updating, ret, err);
}

int store_vault_find(struct store *s, struct arena *a, const char *project_id,
                     const char *id_or_name, struct vault_record *ret, struct error *err)
{
	const struct record_lookup lookup = {.project_id = project_id, .id = id_or_name};
	struct rows rows = {.arena = a, .size = sizeof(*ret)};
	int found = store_find_query(s, QUERY_VAULT_FIND, &lookup, &rows, ret, err);

	if (found == 0)
		return fail_missing(id_or_name, err);
	return found < 0 ? -1 : 0;
}

int store_vault_list(struct store *s, struct arena *a, const char *project_id,
                     struct vault_list *ret, struct error *err)
{
	const struct record_lookup lookup = {.project_id = project_id};
	struct rows rows = {.arena = a, .size = sizeof(struct vault_record)};

	if (store_read_query(s, QUERY_VAULT_LIST, &lookup, &rows, err) < 0)
		return -1;
	*ret = (struct vault_list){rows.items, rows.count};
	return 0;
}

int store_vault_remove(struct store *s, const char *project_id, const char *id_or_name,
                       struct error *err)
{
	const struct record_lookup lookup = {.project_id = project_id, .id = id_or_name};
	int count = store_change_query(s, QUERY_VAULT_REMOVE, &lookup, err);

	if (count == 0)
		return fail_missing(id_or_name, err);
	return count < 0 ? -1 : 0;
}
