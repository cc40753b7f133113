/* SPDX-License-Identifier: Apache-2.0 */
#include "store/configs.h"

#include "store/column_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

struct config_change {
	struct config_record record;
	int64_t seen_at;
};

COLUMNS_OF(config_record);
COLUMNS_OF(config_change);

static int fail_missing(const char *id, struct error *err)
{
	return FAIL(err, ERROR_NOT_FOUND, "no sandbox config '%s'", id);
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct config_record *r = context;

	if (project_lock(c, r->project_id, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_CONFIG_INSERT, r, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "a sandbox config named '%s' exists already",
	                r->name)) < 0)
		return -1;
	return project_check_count(c, QUERY_CONFIG_COUNT, r->project_id, STORE_CONFIGS_MAX,
	                           "sandbox configs", err);
}

int store_config_insert(struct store *s, const struct config_record *r, struct error *err)
{
	return store_change(s, run_insertion, r, err);
}

int store_config_find(struct store *s, struct arena *a, const char *project_id,
                      const char *id_or_name, struct config_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_CONFIG_FIND,
	                               LOOKUP(.project_id = project_id, .id = id_or_name),
	                               INTO(a, ret), err),
	              fail_missing(id_or_name, err));
}

int store_config_list(struct store *s, struct arena *a, const char *project_id,
                      struct config_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_CONFIG_LIST, LOOKUP(.project_id = project_id),
	                        LIST_INTO(a, ret), err);
}

int store_config_update(struct store *s, const struct config_record *r, int64_t seen_at,
                        struct error *err)
{
	const struct config_change change = {*r, seen_at};

	return ROW_OR(store_change_query(s, QUERY_CONFIG_UPDATE, &change, err),
	              FAIL(err, ERROR_CONFLICT,
	                   "sandbox config '%s' was changed meanwhile, or its name is taken",
	                   r->name));
}

int store_config_remove(struct store *s, const char *project_id, const char *id, struct error *err)
{
	return ROW_OR(store_change_query(s, QUERY_CONFIG_REMOVE,
	                                 LOOKUP(.project_id = project_id, .id = id), err),
	              fail_missing(id, err));
}
