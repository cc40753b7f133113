/* SPDX-License-Identifier: Apache-2.0 */
#include "store/skills.h"

#include "store/column_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

const struct column columns_of_skill_record[] = {
        TEXT_OF(skill_record, id),
        TEXT_OF(skill_record, project_id),
        TEXT_OF(skill_record, name),
        TEXT_OF(skill_record, description),
        TEXT_OF(skill_record, files_json),
        WHOLE_OF(skill_record, file_count),
        WHOLE_OF(skill_record, size_bytes),
        WHOLE_OF(skill_record, updated_at),
        END,
};

static int fail_missing(const char *name, struct error *err)
{
	return FAIL(err, ERROR_NOT_FOUND, "no skill '%.100s'", name);
}

static int run_put(struct store_connection *c, void *context, struct error *err)
{
	const struct skill_record *r = context;
	const struct record_lookup lookup = {.project_id = r->project_id};
	int64_t count;

	if (project_lock(c, r->project_id, err) < 0 ||
	    query_run(c, QUERY_SKILL_PUT, r, NULL, err) < 0 ||
	    query_count(c, QUERY_SKILL_COUNT, &lookup, &count, err) < 0)
		return -1;
	if (count > STORE_SKILLS_MAX)
		return FAIL(err, ERROR_LIMIT, "the project has %d skills already",
		            STORE_SKILLS_MAX);
	return 0;
}

int store_skill_put(struct store *s, const struct skill_record *r, struct error *err)
{
	struct skill_record record = *r;

	return store_change(s, &(struct transaction){.run = run_put, .context = &record}, err);
}

int store_skill_find(struct store *s, struct arena *a, const char *project_id, const char *name,
                     struct skill_record *ret, struct error *err)
{
	const struct record_lookup lookup = {.project_id = project_id, .id = name};
	struct rows rows = {.arena = a, .size = sizeof(*ret)};
	int found = store_find_query(s, QUERY_SKILL_FIND, &lookup, &rows, ret, err);

	if (found == 0)
		return fail_missing(name, err);
	return found < 0 ? -1 : 0;
}

int store_skill_list(struct store *s, struct arena *a, const char *project_id,
                     struct skill_list *ret, struct error *err)
{
	const struct record_lookup lookup = {.project_id = project_id};
	struct rows rows = {.arena = a, .size = sizeof(struct skill_record)};

	if (store_read_query(s, QUERY_SKILL_LIST, &lookup, &rows, err) < 0)
		return -1;
	*ret = (struct skill_list){rows.items, rows.count};
	return 0;
}

int store_skill_remove(struct store *s, const char *project_id, const char *name, struct error *err)
{
	const struct record_lookup lookup = {.project_id = project_id, .id = name};
	int count = store_change_query(s, QUERY_SKILL_REMOVE, &lookup, err);

	if (count == 0)
		return fail_missing(name, err);
	return count < 0 ? -1 : 0;
}
