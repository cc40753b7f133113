/* SPDX-License-Identifier: Apache-2.0 */
#include "store/configs.h"

#include "store/column_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

struct config_change {
	struct config_record record;
	int64_t seen_at;
};

const struct column columns_of_config_record[] = {
        TEXT_OF(config_record, id),
        TEXT_OF(config_record, project_id),
        TEXT_OF(config_record, name),
        TEXT_OF(config_record, config_json),
        SECRET_OF(config_record, env_json, "sandbox_configs"),
        WHOLE_OF(config_record, created_at),
        WHOLE_OF(config_record, updated_at),
        END,
};

const struct column columns_of_config_change[] = {
        COLUMN_(COLUMN_TEXT, config_change, record.id, const char *, "id"),
        COLUMN_(COLUMN_TEXT, config_change, record.project_id, const char *, "project_id"),
        COLUMN_(COLUMN_TEXT, config_change, record.name, const char *, "name"),
        COLUMN_(COLUMN_TEXT, config_change, record.config_json, const char *, "config_json"),
        SECRET_(config_change, record.env_json, record.id, "env_json", "sandbox_configs"),
        COLUMN_(COLUMN_WHOLE, config_change, record.updated_at, int64_t, "updated_at"),
        WHOLE_OF(config_change, seen_at),
        END,
};

static int fail_missing(const char *id, struct error *err)
{
	return FAIL(err, ERROR_NOT_FOUND, "no sandbox config '%s'", id);
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct config_record *r = context;
	const struct record_lookup lookup = {.project_id = r->project_id};
	int64_t configs;
	int count;

	if (project_lock(c, r->project_id, err) < 0)
		return -1;
	count = query_run(c, QUERY_CONFIG_INSERT, r, NULL, err);
	if (count == 0)
		return FAIL(err, ERROR_CONFLICT, "a sandbox config named '%s' exists already",
		            r->name);
	if (count < 0 || query_count(c, QUERY_CONFIG_COUNT, &lookup, &configs, err) < 0)
		return -1;
	if (configs > STORE_CONFIGS_MAX)
		return FAIL(err, ERROR_LIMIT, "the project has %d sandbox configs already",
		            STORE_CONFIGS_MAX);
	return 0;
}

int store_config_insert(struct store *s, const struct config_record *r, struct error *err)
{
	struct config_record record = *r;

	return store_change(s, &(struct transaction){.run = run_insertion, .context = &record},
	                    err);
}

int store_config_find(struct store *s, struct arena *a, const char *project_id,
                      const char *id_or_name, struct config_record *ret, struct error *err)
{
	const struct record_lookup lookup = {.project_id = project_id, .id = id_or_name};
	struct rows rows = {.arena = a, .size = sizeof(*ret)};
	int found = store_find_query(s, QUERY_CONFIG_FIND, &lookup, &rows, ret, err);

	if (found == 0)
		return fail_missing(id_or_name, err);
	return found < 0 ? -1 : 0;
}

int store_config_list(struct store *s, struct arena *a, const char *project_id,
                      struct config_list *ret, struct error *err)
{
	struct rows rows = {.arena = a, .size = sizeof(struct config_record)};

	if (store_read_query(s, QUERY_CONFIG_LIST,
	                     &(struct record_lookup){.project_id = project_id}, &rows, err) < 0)
		return -1;
	*ret = (struct config_list){rows.items, rows.count};
	return 0;
}

int store_config_update(struct store *s, const struct config_record *r, int64_t seen_at,
                        struct error *err)
{
	const struct config_change change = {*r, seen_at};
	int count = store_change_query(s, QUERY_CONFIG_UPDATE, &change, err);

	if (count == 0)
		return FAIL(err, ERROR_CONFLICT,
		            "sandbox config '%s' was changed meanwhile, or its name is taken",
		            r->name);
	return count < 0 ? -1 : 0;
}

int store_config_remove(struct store *s, const char *project_id, const char *id, struct error *err)
{
	const struct record_lookup lookup = {.project_id = project_id, .id = id};
	int count = store_change_query(s, QUERY_CONFIG_REMOVE, &lookup, err);

	if (count == 0)
		return fail_missing(id, err);
	return count < 0 ? -1 : 0;
}
