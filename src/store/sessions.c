/* SPDX-License-Identifier: Apache-2.0 */
#include "store/driver.h"

static struct session_record wanted_by(const struct session_ref *ref)
{
	return (struct session_record){.project_id = ref->project_id,
	                               .tenant_id = ref->tenant_id,
	                               .session_id = ref->session_id};
}

static void add_touch(struct store *s, struct session_record *r)
{
	r->last_used_at =
	        touches_latest(s->touches, TOUCHED_SESSION, r->sandbox_id, r->last_used_at);
}

int store_session_find(struct store *s, struct arena *a, const struct session_ref *ref,
                       struct session_record *ret, struct error *err)
{
	const struct session_record wanted = wanted_by(ref);
	struct rows rows = {.arena = a, .size = sizeof(*ret)};
	int count = store_read_query(s, QUERY_SESSION_FIND, &wanted, &rows, err);

	if (count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no session '%s'", ref->session_id);
	if (count < 0)
		return -1;
	*ret = *(struct session_record *)rows.items;
	add_touch(s, ret);
	return 0;
}

struct insertion {
	const struct session_record *record;
	unsigned sessions_max;
};

static int run_insertion(struct connection *c, void *context, struct error *err)
{
	const struct insertion *insertion = context;
	const struct session_record *r = insertion->record;
	AUTO(arena_done) struct arena arena = {0};
	struct rows rows = {.arena = &arena, .size = sizeof(struct tally)};
	struct tally held = {0};
	int count = query_run(c, QUERY_SESSION_INSERT, r, NULL, err);

	if (count == 0)
		return FAIL(err, ERROR_CONFLICT, "session '%s' exists already", r->session_id);
	if (count < 0)
		return -1;
	if (query_find(c, QUERY_SESSION_COUNT, &(struct lookup){.project_id = r->project_id}, &rows,
	               &held, err) < 0)
		return -1;
	if (insertion->sessions_max > 0 && held.count > insertion->sessions_max)
		return FAIL(err, ERROR_LIMIT, "the project has %u sessions already",
		            insertion->sessions_max);
	return 0;
}

int store_session_insert(struct store *s, const struct session_record *r, unsigned sessions_max,
                         struct error *err)
{
	struct insertion insertion = {r, sessions_max};

	return store_change(s, &(struct transaction){.run = run_insertion, .context = &insertion},
	                    err);
}

int store_session_remove(struct store *s, const struct session_ref *ref, struct error *err)
{
	const struct session_record wanted = wanted_by(ref);
	int count = store_change_query(s, QUERY_SESSION_REMOVE, &wanted, err);

	if (count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no session '%s'", ref->session_id);
	return count < 0 ? -1 : 0;
}

int store_session_remove_of(struct store *s, const char *sandbox_id, struct error *err)
{
	const struct lookup lookup = {.id = sandbox_id};

	return store_change_query(s, QUERY_SESSION_REMOVE_OF, &lookup, err) < 0 ? -1 : 0;
}

int store_session_list(struct store *s, struct arena *a, const char *project_id,
                       struct session_list *ret, struct error *err)
{
	const struct lookup lookup = {.project_id = project_id};
	struct rows rows = {.arena = a, .size = sizeof(struct session_record)};

	if (store_read_query(s, QUERY_SESSION_LIST, &lookup, &rows, err) < 0)
		return -1;
	*ret = (struct session_list){rows.items, rows.count};
	for (size_t i = 0; i < ret->count; i++)
		add_touch(s, &ret->items[i]);
	return 0;
}

void store_session_touch(struct store *s, const char *sandbox_id, int64_t now)
{
	touches_add(s->touches, TOUCHED_SESSION, sandbox_id, now);
}
