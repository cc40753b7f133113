/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backups.h"

#include "store/driver.h"

const char *backup_state_name(enum backup_state state)
{
	static const char *const names[] = {
	        [BACKUP_MAKING] = "making",
	        [BACKUP_READY] = "ready",
	        [BACKUP_FAILED] = "failed",
	        [BACKUP_REMOVING] = "removing",
	};

	return (unsigned)state < COUNT_OF(names) ? names[state] : "unknown";
}

struct insertion {
	const struct backup_record *record;
	unsigned project_max;
};

static int run_insertion(struct connection *c, void *context, struct error *err)
{
	const struct insertion *insertion = context;
	const struct backup_record *r = insertion->record;
	const struct lookup project = {.project_id = r->project_id};
	int count = query_run(c, QUERY_BACKUP_INSERT, r, NULL, err);
	int64_t held;

	if (count == 0)
		return FAIL(err, ERROR_CONFLICT, "a backup named '%s' exists already", r->name);
	if (count < 0 || query_count(c, QUERY_BACKUP_COUNT, &project, &held, err) < 0)
		return -1;
	if (held <= insertion->project_max)
		return 0;
	(void)FAIL(err, ERROR_LIMIT, "the project has %u backups already", insertion->project_max);
	error_hint(err, "remove one");
	return -1;
}

int store_backup_insert(struct store *s, const struct backup_record *r, unsigned project_max,
                        struct error *err)
{
	struct insertion insertion = {r, project_max};

	return store_change(s, &(struct transaction){.run = run_insertion, .context = &insertion},
	                    err);
}

int store_backup_find(struct store *s, struct arena *a, const char *project_id,
                      const char *id_or_name, struct backup_record *ret, struct error *err)
{
	const struct lookup lookup = {.project_id = project_id, .id = id_or_name};
	struct rows rows = {.arena = a, .size = sizeof(*ret)};
	int count = store_read_query(s, QUERY_BACKUP_FIND, &lookup, &rows, err);

	if (count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no backup '%s'", id_or_name);
	if (count < 0)
		return -1;
	*ret = *(struct backup_record *)rows.items;
	return 0;
}

int store_backup_list(struct store *s, struct arena *a, const struct backup_filter *filter,
                      struct backup_list *ret, struct error *err)
{
	unsigned limit = list_limit(filter->limit);
	struct rows rows = {.arena = a, .size = sizeof(struct backup_record)};
	struct backup_page page = {
	        .project_id = filter->project_id,
	        .holder_id = filter->holder_id,
	        .node = filter->node,
	        .limit = (int64_t)limit + 1, /* one more tells whether there is more */
	};

	if (page_parse(filter->page, &page.page_at, &page.page_id, err) < 0 ||
	    store_read_query(s, QUERY_BACKUP_LIST, &page, &rows, err) < 0)
		return -1;
	*ret = (struct backup_list){.items = rows.items, .count = rows.count};
	if (ret->count > limit) {
		const struct backup_record *last = &ret->items[limit - 1];

		ret->count = limit;
		ret->next_page = page_format(a, last->created_at, last->id);
	}
	return 0;
}

static int run_update(struct connection *c, void *context, struct error *err)
{
	const struct backup_record *r = context;
	int count = query_run(c, QUERY_BACKUP_UPDATE, r, NULL, err);

	if (count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no backup '%s'", r->id);
	return count < 0 ? -1 : 0;
}

int store_backup_update(struct store *s, const struct backup_record *r, bool is_lazy,
                        struct error *err)
{
	struct backup_record copy = *r;

	return store_change(
	        s, &(struct transaction){.run = run_update, .context = &copy, .is_lazy = is_lazy},
	        err);
}

int store_backup_remove(struct store *s, const char *id, struct error *err)
{
	const struct lookup lookup = {.id = id};

	return store_change_query(s, QUERY_BACKUP_REMOVE, &lookup, err) < 0 ? -1 : 0;
}
