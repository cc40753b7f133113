/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backups.h"

#include "base/bytes.h"
#include "sandbox/events.h"
#include "store/column_rows.h"
#include "store/event_rows.h"
#include "store/pages.h"
#include "store/query.h"
#include "store/transaction_parts.h"

NAMES_OF(backup_state, BACKUP_REMOVING + 1, [BACKUP_MAKING] = "making", [BACKUP_READY] = "ready",
         [BACKUP_FAILED] = "failed", [BACKUP_REMOVING] = "removing")

struct backup_page {
	struct backup_filter filter;
	struct page_position position;
};

COLUMNS_OF(backup_record);

void backup_record_own(struct arena *a, struct backup_record *r)
{
	columns_own(columns_of_backup_record, a, r);
}

COLUMNS_OF(backup_page);

struct backup_insertion {
	const struct backup_record *record;
	unsigned project_max;
};

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct backup_insertion *insertion = context;
	const struct backup_record *r = insertion->record;

	if (ROW_OR(query_run(c, QUERY_BACKUP_INSERT, r, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "a backup named '%s' exists already", r->name)) < 0)
		return -1;
	if (project_check_count(c, QUERY_BACKUP_COUNT, r->project_id, insertion->project_max,
	                        "backups", err) == 0)
		return 0;
	return err->code == ERROR_LIMIT ? FAIL_HINT(err, "remove one") : -1;
}

int store_backup_insert(struct store *s, const struct backup_record *r, unsigned project_max,
                        struct error *err)
{
	struct backup_insertion insertion = {r, project_max};

	return store_change(s, run_insertion, &insertion, err);
}

int store_backup_find(struct store *s, struct arena *a, const char *project_id,
                      const char *id_or_name, struct backup_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_BACKUP_FIND,
	                               LOOKUP(.project_id = project_id, .id = id_or_name),
	                               INTO(a, ret), err),
	              FAIL_MISSING(err, "backup", id_or_name));
}

int store_backup_list(struct store *s, struct arena *a, const struct backup_filter *filter,
                      struct backup_list *ret, struct error *err)
{
	struct backup_page page = {.filter = *filter};

	if (page_begin(&page.position, filter->page, filter->limit, err) < 0)
		return -1;
	return store_list_query(s, QUERY_BACKUP_LIST, &page, PAGE_INTO(a, ret, &page.position),
	                        err);
}

static int find_of_id(struct store_connection *c, struct arena *a, const char *id,
                      struct backup_record *ret, struct error *err)
{
	return query_find(c, QUERY_BACKUP_OF_ID, LOOKUP(.id = id), INTO(a, ret), err);
}

/* No event for the backup of an archived sandbox: the sandbox's own event reports it. */
static int add_backup_event(struct store_connection *c, enum event_kind kind,
                            const struct backup_record *r, struct error *err)
{
	if (*r->holder_id)
		return 0;
	return event_add_about(
	        c, kind, &(struct event_subject){.project_id = r->project_id, .name = r->name},
	        err);
}

static int run_update(struct store_connection *c, void *context, struct error *err)
{
	const struct backup_record *r = context;
	bool has_ended = r->state == BACKUP_READY || r->state == BACKUP_FAILED;
	AUTO(arena_done) struct arena arena = {0};
	struct backup_record before;
	int found = has_ended ? find_of_id(c, &arena, r->id, &before, err) : 0;

	if (found < 0 || ROW_OR(query_run(c, QUERY_BACKUP_UPDATE, r, NULL, err),
	                        FAIL_MISSING(err, "backup", r->id)) < 0)
		return -1;
	/* Only a change of state adds an event; a READY backup is updated with the progress of its
	 * readers. */
	if (found == 0 || before.state == r->state)
		return 0;
	return add_backup_event(c,
	                        r->state == BACKUP_READY ? EVENT_BACKUP_READY : EVENT_BACKUP_FAILED,
	                        &before, err);
}

int store_backup_update(struct store *s, const struct backup_record *r, bool is_lazy,
                        struct error *err)
{
	return store_transact(s, &(struct transaction){run_update, r, is_lazy}, err);
}

/* A backup that never became READY adds no event. */
static int run_removal(struct store_connection *c, void *context, struct error *err)
{
	const struct record_lookup *lookup = context;
	AUTO(arena_done) struct arena arena = {0};
	struct backup_record r;
	int found = find_of_id(c, &arena, lookup->id, &r, err);

	if (found <= 0)
		return found;
	if (query_run(c, QUERY_BACKUP_REMOVE, lookup, NULL, err) < 0)
		return -1;
	return r.state == BACKUP_MAKING ? 0 : add_backup_event(c, EVENT_BACKUP_DELETED, &r, err);
}

int store_backup_remove(struct store *s, const char *id, struct error *err)
{
	return store_change(s, run_removal, LOOKUP(.id = id), err);
}
