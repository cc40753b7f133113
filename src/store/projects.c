/* SPDX-License-Identifier: Apache-2.0 */
#include "store/projects.h"

#include <inttypes.h>

#include "store/column_rows.h"
#include "sandbox/events.h"
#include "store/event_rows.h"
#include "store/organizations.h"
#include "store/query.h"
#include "store/transaction_parts.h"

COLUMNS_OF(project_record);
COLUMNS_OF(project_page);
COLUMNS_OF(project_closing);

static int fail_taken(const char *name, struct error *err)
{
	return FAIL(err, ERROR_CONFLICT, "project '%s' exists already", name);
}

static int fail_missing(const char *id, struct error *err)
{
	return FAIL_MISSING(err, "project", id);
}

int project_lock(struct store_connection *c, const char *project_id, struct error *err)
{
	return ROW_OR(query_run(c, QUERY_PROJECT_LOCK, LOOKUP(.project_id = project_id), NULL, err),
	              fail_missing(project_id, err));
}

int project_check_count(struct store_connection *c, enum query_name count_query,
                        const char *project_id, int64_t max, const char *nouns, struct error *err)
{
	int64_t count;

	if (query_count(c, count_query, LOOKUP(.project_id = project_id), &count, err) < 0)
		return -1;
	if (count > max)
		return FAIL(err, ERROR_LIMIT, "the project has %" PRId64 " %s already", max, nouns);
	return 0;
}

static int add_project_event(struct store_connection *c, enum event_kind kind,
                             const struct project_record *r, struct error *err)
{
	return event_add_about(c, kind, &(struct event_subject){r->id, NULL, r->name}, err);
}

static int check_organization(struct store_connection *c, const char *id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct organization_record found;

	if (!id || !id[0])
		return 0;
	return ROW_OR(
	        query_find(c, QUERY_ORGANIZATION_FIND, LOOKUP(.id = id), INTO(&arena, &found), err),
	        FAIL_MISSING(err, "organization", id));
}

static int check_source(struct store_connection *c, const struct project_record *r,
                        struct error *err)
{
	int64_t others;

	if (!r->source_address || !*r->source_address)
		return 0;
	if (query_count(c, QUERY_PROJECT_COUNT_OF_SOURCE, r, &others, err) < 0)
		return -1;
	if (others > 0)
		return FAIL(err, ERROR_CONFLICT, "another project has the source address %s",
		            r->source_address);
	if (query_count(c, QUERY_PROJECT_COUNT_SOURCES, r, &others, err) < 0)
		return -1;
	return others < PROJECT_SOURCES_MAX
	               ? 0
	               : FAIL(err, ERROR_LIMIT, "%d projects have a source address already",
	                      PROJECT_SOURCES_MAX);
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct project_record *r = context;
	int64_t projects;

	if (check_organization(c, r->organization_id, err) < 0 || check_source(c, r, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_PROJECT_INSERT, r, NULL, err), fail_taken(r->name, err)) <
	            0 ||
	    query_count(c, QUERY_PROJECT_COUNT, NULL, &projects, err) < 0)
		return -1;
	if (projects > STORE_PROJECTS_MAX)
		return FAIL(err, ERROR_LIMIT, "there are %d projects already", STORE_PROJECTS_MAX);
	/* The first project is created with the store, before any watcher exists: no event. */
	return projects == 1 ? 0 : add_project_event(c, EVENT_PROJECT_CREATED, r, err);
}

int store_project_insert(struct store *s, const struct project_record *r, struct error *err)
{
	return store_change(s, run_insertion, r, err);
}

int store_project_find(struct store *s, struct arena *a, const char *id, struct project_record *ret,
                       struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_PROJECT_FIND, LOOKUP(.id = id), INTO(a, ret), err),
	              fail_missing(id, err));
}

int store_project_find_named(struct store *s, struct arena *a, const char *name,
                             struct project_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_PROJECT_FIND_NAMED, LOOKUP(.id = name),
	                               INTO(a, ret), err),
	              FAIL_MISSING(err, "project", name));
}

int store_project_list(struct store *s, struct arena *a, const struct project_page *page,
                       struct project_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_PROJECT_LIST, page, LIST_INTO(a, ret), err);
}

int store_project_list_sources(struct store *s, struct arena *a, struct project_list *ret,
                               struct error *err)
{
	return store_list_query(s, QUERY_PROJECT_LIST_SOURCES, NULL, LIST_INTO(a, ret), err);
}

int store_project_list_closing(struct store *s, struct arena *a, struct project_list *ret,
                               struct error *err)
{
	return store_list_query(s, QUERY_PROJECT_LIST_CLOSING, NULL, LIST_INTO(a, ret), err);
}

struct editing {
	struct arena *arena;
	const struct project_edit *edit;
	struct project_record *ret;
};

static int run_edit(struct store_connection *c, void *context, struct error *err)
{
	struct editing *editing = context;
	const struct project_edit *edit = editing->edit;
	struct project_record record;

	if (project_lock(c, edit->id, err) < 0 ||
	    query_find(c, QUERY_PROJECT_FIND, LOOKUP(.id = edit->id), INTO(editing->arena, &record),
	               err) < 0 ||
	    edit->edit(&record, edit->context, err) < 0 ||
	    check_organization(c, record.organization_id, err) < 0 ||
	    check_source(c, &record, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_PROJECT_UPDATE, &record, NULL, err),
	           fail_taken(record.name, err)) < 0 ||
	    add_project_event(c, EVENT_PROJECT_UPDATED, &record, err) < 0)
		return -1;
	*editing->ret = record;
	return 0;
}

int store_project_edit(struct store *s, struct arena *a, const struct project_edit *edit,
                       struct project_record *ret, struct error *err)
{
	struct editing editing = {a, edit, ret};

	return store_change(s, run_edit, &editing, err);
}

static int refuse_closing(const char *id, struct error *err)
{
	(void)FAIL(err, ERROR_CONFLICT, "project '%s' has sandboxes or volumes", id);
	return FAIL_HINT(err, "delete them first, or all together with force=true");
}

static int run_closing(struct store_connection *c, void *context, struct error *err)
{
	const struct project_closing *closing = context;

	if (project_lock(c, closing->id, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_PROJECT_CLOSE, closing, NULL, err),
	           refuse_closing(closing->id, err)) < 0)
		return -1;
	return query_run(c, QUERY_KEY_REVOKE_ALL, closing, NULL, err) < 0 ? -1 : 0;
}

int store_project_close(struct store *s, const struct project_closing *closing, struct error *err)
{
	return store_change(s, run_closing, closing, err);
}

/* The rows of a project are removed before the project, in this order. */
static const enum query_name removals[] = {
        QUERY_SKILL_REMOVE_ALL,      QUERY_PROJECT_REMOVE_WEBHOOKS, QUERY_PROJECT_REMOVE_SANDBOXES,
        QUERY_KEY_REMOVE_ALL,        QUERY_MEMBER_REMOVE_ALL,       QUERY_CONFIG_REMOVE_ALL,
        QUERY_LEASE_REMOVE_ALL,      QUERY_BUDGET_REMOVE_ALL,       QUERY_VAULT_REMOVE_ALL,
        QUERY_INVITATION_REMOVE_ALL, QUERY_CREDENTIAL_REMOVE_ALL,   QUERY_CONNECT_REMOVE_ALL,
        QUERY_CONSENT_REMOVE_ALL,
};

static int run_removal(struct store_connection *c, void *context, struct error *err)
{
	const struct record_lookup *lookup = context;
	AUTO(arena_done) struct arena arena = {0};
	struct project_record r;
	int64_t held;

	if (project_lock(c, lookup->id, err) < 0 ||
	    query_find(c, QUERY_PROJECT_FIND, lookup, INTO(&arena, &r), err) < 0 ||
	    query_count(c, QUERY_PROJECT_HOLDS, lookup, &held, err) < 0)
		return -1;
	if (held > 0)
		return FAIL(err, ERROR_CONFLICT,
		            "project '%s' still has sandboxes, snapshots, templates, backups or "
		            "volumes",
		            lookup->id);
	for (size_t i = 0; i < COUNT_OF(removals); i++)
		if (query_run(c, removals[i], lookup, NULL, err) < 0)
			return -1;
	if (ROW_OR(query_run(c, QUERY_PROJECT_REMOVE, lookup, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "project '%s' is not being deleted", lookup->id)) < 0)
		return -1;
	return add_project_event(c, EVENT_PROJECT_DELETED, &r, err);
}

int store_project_remove(struct store *s, const char *id, struct error *err)
{
	return store_change(s, run_removal, LOOKUP(.id = id), err);
}
