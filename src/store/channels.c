/* SPDX-License-Identifier: Apache-2.0 */
#include "store/channels.h"

#include "store/column_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

WORDS_OF(job_channel, JOB_CHANNEL_COUNT)

COLUMNS_OF(channel_record);
COLUMNS_OF(channel_ref);

struct put {
	const struct channel_record *record;
	unsigned channels_max;
};

/* The token's encryption is bound to the row's id, so an existing row keeps its id. */
static int run_put(struct store_connection *c, void *context, struct error *err)
{
	const struct put *put = context;
	struct channel_record r = *put->record;
	const struct channel_ref ref = {r.project_id, r.name};
	AUTO(arena_done) struct arena arena = {0};
	struct channel_record old;
	int found = query_find(c, QUERY_CHANNEL_FIND, &ref, INTO(&arena, &old), err);

	if (found < 0)
		return -1;
	if (found > 0)
		r.id = old.id;
	if (query_run(c, found ? QUERY_CHANNEL_UPDATE : QUERY_CHANNEL_INSERT, &r, NULL, err) < 0)
		return -1;
	return project_check_count(c, QUERY_CHANNEL_COUNT, r.project_id, put->channels_max,
	                           "channels", err);
}

int store_channel_put(struct store *s, const struct channel_record *r, unsigned channels_max,
                      struct error *err)
{
	struct put put = {r, channels_max};

	return store_change(s, run_put, &put, err);
}

static int not_found(const char *name, struct error *err)
{
	return FAIL(err, ERROR_NOT_FOUND, "the project has no channel '%.64s'", name);
}

int store_channel_find(struct store *s, struct arena *a, const struct channel_ref *ref,
                       struct channel_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_CHANNEL_FIND, ref, INTO(a, ret), err),
	              not_found(ref->name, err));
}

int store_channel_list(struct store *s, struct arena *a, const char *project_id,
                       struct channel_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_CHANNEL_LIST, LOOKUP(.project_id = project_id),
	                        LIST_INTO(a, ret), err);
}

int store_channel_remove(struct store *s, const struct channel_ref *ref, struct error *err)
{
	return ROW_OR(store_change_query(s, QUERY_CHANNEL_REMOVE, ref, err),
	              not_found(ref->name, err));
}
