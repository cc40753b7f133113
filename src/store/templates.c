/* SPDX-License-Identifier: Apache-2.0 */
#include "store/templates.h"

#include <string.h>

#include "store/driver.h"

/* Shared templates come with the program and add no event. */
static int add_template_event(struct store_connection *c, enum event_kind kind,
                              const struct template_record *r, struct error *err)
{
	if (!r->project_id || !*r->project_id)
		return 0;
	return event_add_about(
	        c, kind, &(struct event_subject){.project_id = r->project_id, .name = r->name},
	        err);
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct template_record *r = context;
	int count = query_run(c, QUERY_TEMPLATE_INSERT, r, NULL, err);

	if (count == 0)
		return FAIL(err, ERROR_CONFLICT, "a template named '%s' exists already", r->name);
	return count < 0 ? -1 : add_template_event(c, EVENT_TEMPLATE_CREATED, r, err);
}

int store_template_insert(struct store *s, const struct template_record *r, struct error *err)
{
	struct template_record copy = *r;

	return store_change(s, &(struct transaction){.run = run_insertion, .context = &copy}, err);
}

int store_template_find(struct store *s, struct arena *a, const char *project_id,
                        const char *name_or_id, struct template_record *ret, struct error *err)
{
	const struct record_lookup lookup = {.project_id = project_id, .id = name_or_id};
	struct rows rows = {.arena = a, .size = sizeof(*ret)};
	int count = store_read_query(s, QUERY_TEMPLATE_FIND, &lookup, &rows, err);

	if (count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no template '%s'", name_or_id);
	if (count < 0)
		return -1;
	*ret = *(struct template_record *)rows.items;
	return 0;
}

int store_template_list(struct store *s, struct arena *a, const char *project_id,
                        struct template_list *ret, struct error *err)
{
	const struct record_lookup lookup = {.project_id = project_id};
	struct rows rows = {.arena = a, .size = sizeof(struct template_record)};

	if (store_read_query(s, QUERY_TEMPLATE_LIST, &lookup, &rows, err) < 0)
		return -1;
	*ret = (struct template_list){rows.items, rows.count};
	return 0;
}

/* A change by compare and set that met no row: because there is none, or is it in another state? */
struct template_attempt {
	enum query_name query;
	const void *takes;
	enum query_name look;
	struct record_lookup lookup;
	const char *refusal;
};

static int run_attempt(struct store_connection *c, void *context, struct error *err)
{
	const struct template_attempt *attempt = context;
	AUTO(arena_done) struct arena arena = {0};
	struct rows rows = {.arena = &arena, .size = sizeof(struct template_seen)};
	int count = query_run(c, attempt->query, attempt->takes, NULL, err);

	if (count != 0)
		return count < 0 ? -1 : 0;
	count = query_run(c, attempt->look, &attempt->lookup, &rows, err);
	if (count < 0)
		return -1;
	if (count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no template '%s'", attempt->lookup.id);
	return FAIL(err, ERROR_CONFLICT, "template '%s' %s", attempt->lookup.id, attempt->refusal);
}

/* Adds an event only when a project's own template becomes ready or fails. */
static int run_move(struct store_connection *c, void *context, struct error *err)
{
	const struct template_attempt *attempt = context;
	const struct template_move *move = attempt->takes;
	AUTO(arena_done) struct arena arena = {0};
	struct rows rows = {.arena = &arena, .size = sizeof(struct template_record)};
	struct template_record r;
	int found;

	if (run_attempt(c, context, err) < 0)
		return -1;
	if (move->from == move->to || (move->to != TEMPLATE_READY && move->to != TEMPLATE_FAILED))
		return 0;
	found = query_find(c, QUERY_TEMPLATE_FIND, &attempt->lookup, &rows, &r, err);
	/* A project's own template precedes a shared one, even when its name equals a shared
	 * template's id. */
	if (found <= 0 || strcmp(r.id, move->id) != 0)
		return found < 0 ? -1 : 0;
	return add_template_event(
	        c, move->to == TEMPLATE_READY ? EVENT_TEMPLATE_READY : EVENT_TEMPLATE_FAILED, &r,
	        err);
}

int store_template_move(struct store *s, const struct template_move *move, struct error *err)
{
	struct template_attempt attempt = {
	        .query = QUERY_TEMPLATE_MOVE,
	        .takes = move,
	        .look = QUERY_TEMPLATE_STATE,
	        .lookup = {.id = move->id},
	        .refusal = "is in another state",
	};

	return store_change(s,
	                    &(struct transaction){.run = run_move,
	                                          .context = &attempt,
	                                          .is_lazy = move->from == move->to},
	                    err);
}

static int run_update(struct store_connection *c, void *context, struct error *err)
{
	const struct template_record *r = context;
	int count = query_run(c, QUERY_TEMPLATE_UPDATE, r, NULL, err);

	if (count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no template '%s'", r->id);
	return count < 0 ? -1 : add_template_event(c, EVENT_TEMPLATE_UPDATED, r, err);
}

int store_template_update(struct store *s, const struct template_record *r, struct error *err)
{
	struct template_record copy = *r;

	return store_change(s, &(struct transaction){.run = run_update, .context = &copy}, err);
}

int store_template_shares(struct store *s, const char *folder, bool *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct record_lookup lookup = {.id = folder};
	struct rows rows = {.arena = &arena, .size = sizeof(struct template_seen)};
	int count = store_read_query(s, QUERY_TEMPLATE_SHARES, &lookup, &rows, err);

	if (count < 0)
		return -1;
	*ret = count > 0;
	return 0;
}

static int run_removal(struct store_connection *c, void *context, struct error *err)
{
	const struct template_attempt *attempt = context;
	AUTO(arena_done) struct arena arena = {0};
	struct rows rows = {.arena = &arena, .size = sizeof(struct template_record)};
	struct template_record r;
	int found = query_find(c, QUERY_TEMPLATE_FIND, &attempt->lookup, &rows, &r, err);

	if (found < 0 || run_attempt(c, context, err) < 0)
		return -1;
	return found > 0 ? add_template_event(c, EVENT_TEMPLATE_DELETED, &r, err) : 0;
}

int store_template_remove(struct store *s, const char *project_id, const char *id,
                          struct error *err)
{
	struct template_attempt attempt = {
	        .query = QUERY_TEMPLATE_REMOVE,
	        .takes = &attempt.lookup,
	        .look = QUERY_TEMPLATE_OWNED,
	        .lookup = {.project_id = project_id, .id = id},
	        .refusal = "is used by a sandbox, a snapshot, or a template that was built "
	                   "on it",
	};

	return store_change(s, &(struct transaction){.run = run_removal, .context = &attempt}, err);
}
