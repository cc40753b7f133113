/* SPDX-License-Identifier: Apache-2.0 */
#include "store/skills.h"

#include "store/column_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

COLUMNS_OF(skill_record);

static int fail_missing(const char *name, struct error *err)
{
	return FAIL_MISSING(err, "skill", name);
}

static int run_put(struct store_connection *c, void *context, struct error *err)
{
	const struct skill_record *r = context;

	if (project_lock(c, r->project_id, err) < 0 ||
	    query_run(c, QUERY_SKILL_PUT, r, NULL, err) < 0)
		return -1;
	return project_check_count(c, QUERY_SKILL_COUNT, r->project_id, STORE_SKILLS_MAX, "skills",
	                           err);
}

int store_skill_put(struct store *s, const struct skill_record *r, struct error *err)
{
	return store_change(s, run_put, r, err);
}

int store_skill_find(struct store *s, struct arena *a, const char *project_id, const char *name,
                     struct skill_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_SKILL_FIND,
	                               LOOKUP(.project_id = project_id, .id = name), INTO(a, ret),
	                               err),
	              fail_missing(name, err));
}

int store_skill_list(struct store *s, struct arena *a, const char *project_id,
                     struct skill_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_SKILL_LIST, LOOKUP(.project_id = project_id),
	                        LIST_INTO(a, ret), err);
}

int store_skill_remove(struct store *s, const char *project_id, const char *name, struct error *err)
{
	return ROW_OR(store_change_query(s, QUERY_SKILL_REMOVE,
	                                 LOOKUP(.project_id = project_id, .id = name), err),
	              fail_missing(name, err));
}
