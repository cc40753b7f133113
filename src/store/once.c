/* SPDX-License-Identifier: Apache-2.0 */
#include "store/once.h"

#include "store/column_rows.h"
#include "store/query.h"

WORDS_OF(sandbox_state, SANDBOX_STATE_COUNT)

COLUMNS_OF(once_record);
COLUMNS_OF(once_change);

struct once_step {
	enum query_name query;
	const void *takes;
	const char *key;
};

static int run_step(struct store_connection *c, void *context, struct error *err)
{
	const struct once_step *step = context;

	return ROW_OR(query_run(c, step->query, step->takes, NULL, err),
	              FAIL(err, ERROR_CONFLICT, "another request has the key '%.100s'", step->key));
}

/* Lazy: the sandbox itself becomes durable after it. */
static int take_step(struct store *s, const struct once_step *step, struct error *err)
{
	return store_change_lazily(s, run_step, step, err);
}

int store_once_insert(struct store *s, const struct once_record *r, struct error *err)
{
	return take_step(s, &(struct once_step){QUERY_ONCE_INSERT, r, r->key}, err);
}

int store_once_find(struct store *s, struct arena *a, const struct once_record *wanted,
                    struct once_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_ONCE_FIND, wanted, INTO(a, ret), err),
	              FAIL(err, ERROR_NOT_FOUND, "no request had the key '%.100s'", wanted->key));
}

int store_once_take_over(struct store *s, const struct once_change *change, struct error *err)
{
	return take_step(s, &(struct once_step){QUERY_ONCE_TAKE_OVER, change, change->key}, err);
}

int store_once_done(struct store *s, const struct once_change *change, struct error *err)
{
	return take_step(s, &(struct once_step){QUERY_ONCE_DONE, change, change->key}, err);
}

int store_once_remove(struct store *s, const struct once_change *change, struct error *err)
{
	return take_step(s, &(struct once_step){QUERY_ONCE_REMOVE, change, change->key}, err);
}

int store_once_purge(struct store *s, int64_t before, struct error *err)
{
	return store_change_query(s, QUERY_ONCE_PURGE, LOOKUP(.now = before), err) < 0 ? -1 : 0;
}
