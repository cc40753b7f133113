/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sandboxes.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/id.h"
#include "store/column_rows.h"
#include "store/query.h"
#include "store/snapshots.h"
#include "store/touches.h"

WORDS_OF(sandbox_state, SANDBOX_STATE_COUNT)
WORDS_OF(sandbox_reason, SANDBOX_REASON_COUNT)
TEXTS_OF(sandbox_network, SANDBOX_NETWORK_INTERNET + 1, [SANDBOX_NETWORK_BLOCKED] = "blocked",
         [SANDBOX_NETWORK_INTERNET] = "internet")

struct sandbox_tally {
	enum sandbox_state actual;
	int64_t count;
};

struct project_ref {
	const char *id;
};

struct project_refs {
	const struct project_ref *items;
	size_t count;
};

struct sandbox_tallies {
	const struct sandbox_tally *items;
	size_t count;
};

COLUMNS_OF(sandbox_record);

void sandbox_record_own(struct arena *a, struct sandbox_record *r)
{
	columns_own(columns_of_sandbox_record, a, r);
}

COLUMNS_OF(sandbox_tally);
COLUMNS_OF(provider_tally);
COLUMNS_OF(project_ref);

static void add_touch(struct store *s, struct sandbox_record *r)
{
	r->last_activity_at = touches_latest(s, TOUCHED_SANDBOX, r->id, r->last_activity_at);
}

struct sandbox_lookup_run {
	struct arena *arena;
	struct record_lookup lookup;
	struct sandbox_record *ret;
};

static int run_search(struct store_connection *c, void *context, struct error *err)
{
	const struct sandbox_lookup_run *search = context;
	const struct row_target *into = INTO(search->arena, search->ret);
	int found = 0;

	if (id_is_valid(search->lookup.id))
		found = query_find(c, QUERY_SANDBOX_FIND_BY_ID, &search->lookup, into, err);
	if (found == 0 && search->lookup.project_id)
		found = query_find(c, QUERY_SANDBOX_FIND_BY_NAME, &search->lookup, into, err);
	return ROW_OR(found, FAIL_MISSING(err, "sandbox", search->lookup.id));
}

int store_sandbox_find(struct store *s, struct arena *a, const char *project_id,
                       const char *id_or_name, struct sandbox_record *ret, struct error *err)
{
	const struct sandbox_lookup_run search = {
	        a, {.project_id = project_id, .id = id_or_name}, ret};

	if (store_read(s, run_search, &search, err) < 0)
		return -1;
	add_touch(s, ret);
	return 0;
}

static int refuse_several(const struct project_refs *projects, const char *name, struct error *err)
{
	AUTO(buf_done) struct buf names = BUF(512);

	for (size_t i = 0; i < projects->count; i++)
		buf_addf(&names, "%s%s", i > 0 ? ", " : "", projects->items[i].id);
	(void)FAIL(err, ERROR_CONFLICT, "several projects have a sandbox '%s'", name);
	return FAIL_HINT(err, "name one in X-Atoll-Project (%s), or the sandbox by its id",
	                 buf_text(&names));
}

static int fail_nowhere(const char *name, struct error *err)
{
	(void)FAIL_MISSING(err, "sandbox", name);
	return FAIL_HINT(err, "it is in no project of this server");
}

static int run_search_anywhere(struct store_connection *c, void *context, struct error *err)
{
	const struct sandbox_lookup_run *search = context;
	struct record_lookup lookup = search->lookup;
	struct project_refs projects;
	int found = 0;

	if (query_list(c, QUERY_SANDBOX_PROJECTS_WITH_NAME, &lookup,
	               LIST_INTO(search->arena, &projects), err) < 0)
		return -1;
	if (projects.count > 1)
		return refuse_several(&projects, lookup.id, err);
	if (projects.count == 1) {
		lookup.project_id = projects.items[0].id;
		found = query_find(c, QUERY_SANDBOX_FIND_BY_NAME, &lookup,
		                   INTO(search->arena, search->ret), err);
	}
	return ROW_OR(found, fail_nowhere(lookup.id, err));
}

int store_sandbox_find_anywhere(struct store *s, struct arena *a, const char *name,
                                struct sandbox_record *ret, struct error *err)
{
	const struct sandbox_lookup_run search = {a, {.id = name}, ret};

	return store_read(s, run_search_anywhere, &search, err);
}

int store_sandbox_find_ended(struct store *s, struct arena *a, const char *project_id,
                             const char *id, struct sandbox_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_SANDBOX_FIND_ENDED,
	                               LOOKUP(.project_id = project_id, .id = id), INTO(a, ret),
	                               err),
	              FAIL_MISSING(err, "sandbox", id));
}

int store_sandbox_owners(struct store *s, struct arena *a, const char *project_id,
                         const char *ids_json, struct sandbox_owner_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_SANDBOX_LIST_OWNERS,
	                        LOOKUP(.project_id = project_id, .id = ids_json), LIST_INTO(a, ret),
	                        err);
}

void store_sandbox_touch(struct store *s, const char *id, int64_t now)
{
	touches_add(s, TOUCHED_SANDBOX, id, now);
}

int store_sandbox_keep_files(struct store *s, const char *id, struct error *err)
{
	return store_change_query(s, QUERY_SANDBOX_KEEP_FILES, LOOKUP(.id = id), err) < 0 ? -1 : 0;
}

int store_sandbox_count(struct store *s, uint64_t ret_by_state[SANDBOX_STATE_COUNT],
                        struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_tallies tallies;

	if (store_list_query(s, QUERY_SANDBOX_TALLY, NULL, LIST_INTO(&arena, &tallies), err) < 0)
		return -1;
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++)
		ret_by_state[i] = 0;
	for (size_t i = 0; i < tallies.count; i++)
		ret_by_state[tallies.items[i].actual] = (uint64_t)tallies.items[i].count;
	return 0;
}

int store_sandbox_tally(struct store *s, struct arena *a, const char *node,
                        struct provider_tallies *ret, struct error *err)
{
	return store_list_query(s, QUERY_SANDBOX_TALLY_PROVIDERS, LOOKUP(.id = node),
	                        LIST_INTO(a, ret), err);
}

int store_sandbox_adopt(struct store *s, const char *node, struct error *err)
{
	return store_change_query(s, QUERY_SANDBOX_ADOPT, LOOKUP(.id = node), err) < 0 ? -1 : 0;
}

int store_sandbox_purge(struct store *s, int64_t before, struct error *err)
{
	return store_change_query(s, QUERY_SANDBOX_PURGE, LOOKUP(.now = before), err) < 0 ? -1 : 0;
}
