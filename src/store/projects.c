/* SPDX-License-Identifier: Apache-2.0 */
#include "store/driver.h"

int store_project_insert(struct store *s, const struct project_record *r, struct error *err)
{
	int count = store_change_query(s, QUERY_PROJECT_INSERT, r, err);

	if (count == 0)
		return FAIL(err, ERROR_CONFLICT, "project '%s' exists already", r->name);
	return count < 0 ? -1 : 0;
}

int store_project_find(struct store *s, struct arena *a, const char *id, struct project_record *ret,
                       struct error *err)
{
	struct rows rows = {.arena = a, .size = sizeof(*ret)};
	int count = store_read_query(s, QUERY_PROJECT_FIND, &(struct lookup){.id = id}, &rows, err);

	if (count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no project '%s'", id);
	if (count < 0)
		return -1;
	*ret = *(struct project_record *)rows.items;
	return 0;
}

int store_project_set_defaults(struct store *s, const char *id,
                               const struct sandbox_resources *defaults, struct error *err)
{
	int count =
	        store_change_query(s, QUERY_PROJECT_SET_DEFAULTS,
	                           &(struct project_record){.id = id, .defaults = *defaults}, err);

	if (count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no project '%s'", id);
	return count < 0 ? -1 : 0;
}
