/* SPDX-License-Identifier: Apache-2.0 */
#include "store/providers.h"

#include <inttypes.h>

#include "store/column_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

COLUMNS_OF(provider_record);
COLUMNS_OF(provider_use);
COLUMNS_OF(provider_window);
COLUMNS_OF(routing_record);

static int run_add(struct store_connection *c, void *context, struct error *err)
{
	const struct provider_record *r = context;
	int64_t count;

	if (ROW_OR(query_run(c, QUERY_PROVIDER_PUT, r, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "there is a provider '%s' already", r->name)) < 0 ||
	    query_count(c, QUERY_PROVIDER_COUNT, NULL, &count, err) < 0)
		return -1;
	if (count > STORE_PROVIDERS_MAX)
		return FAIL(err, ERROR_LIMIT, "a store has at most %d providers",
		            STORE_PROVIDERS_MAX);
	return 0;
}

int store_provider_add(struct store *s, const struct provider_record *r, struct error *err)
{
	return store_change(s, run_add, r, err);
}

int store_provider_update(struct store *s, const struct provider_record *r, struct error *err)
{
	return ROW_OR(store_change_query(s, QUERY_PROVIDER_UPDATE, r, err),
	              FAIL(err, ERROR_CONFLICT, "provider '%s' was changed meanwhile", r->name));
}

int store_provider_list(struct store *s, struct arena *a, struct provider_record_list *ret,
                        struct error *err)
{
	return store_list_query(s, QUERY_PROVIDER_LIST, NULL, LIST_INTO(a, ret), err);
}

int store_provider_find(struct store *s, struct arena *a, const char *name,
                        struct provider_record *ret, struct error *err)
{
	return ROW_OR(
	        store_find_query(s, QUERY_PROVIDER_FIND, LOOKUP(.id = name), INTO(a, ret), err),
	        FAIL_MISSING(err, "provider", name));
}

int store_provider_drain(struct store *s, const char *name, int64_t now, struct error *err)
{
	return ROW_OR(
	        store_change_query(s, QUERY_PROVIDER_DRAIN, LOOKUP(.id = name, .now = now), err),
	        FAIL_MISSING(err, "provider", name));
}

int provider_run_lock(struct store_connection *c, const char *name, struct error *err)
{
	return ROW_OR(query_run(c, QUERY_PROVIDER_LOCK, LOOKUP(.id = name), NULL, err),
	              FAIL(err, ERROR_CONFLICT, "provider '%s' is being removed", name));
}

/* The change of the row comes first: it makes creates of this provider wait. */
static int run_remove(struct store_connection *c, void *context, struct error *err)
{
	const struct record_lookup *lookup = context;
	int64_t count;

	if (ROW_OR(query_run(c, QUERY_PROVIDER_REMOVE, lookup, NULL, err),
	           FAIL_MISSING(err, "provider", lookup->id)) < 0 ||
	    query_count(c, QUERY_PROVIDER_SANDBOXES, lookup, &count, err) < 0)
		return -1;
	if (count == 0)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "provider '%s' has %" PRId64 " sandboxes", lookup->id,
	           count);
	return FAIL_HINT(err,
	                 "delete them, or drain the provider: it is removed after its last one");
}

int store_provider_remove(struct store *s, const char *name, int64_t now, struct error *err)
{
	return store_change(s, run_remove, LOOKUP(.id = name, .now = now), err);
}

int store_provider_stamp(struct store *s, int64_t *ret, struct error *err)
{
	return store_count_query(s, QUERY_PROVIDER_STAMP, NULL, ret, err);
}

int store_provider_count(struct store *s, const char *name, int64_t *ret, struct error *err)
{
	return store_count_query(s, QUERY_PROVIDER_SANDBOXES, LOOKUP(.id = name), ret, err);
}

int store_provider_uses(struct store *s, struct arena *a, const struct provider_window *window,
                        struct provider_use_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_PROVIDER_USE, window, LIST_INTO(a, ret), err);
}

int store_routing_find(struct store *s, struct arena *a, struct routing_record *ret,
                       struct error *err)
{
	struct routing_record r;
	int found = store_find_query(s, QUERY_ROUTING_FIND, NULL, INTO(a, &r), err);

	if (found < 0)
		return -1;
	*ret = found ? r : (struct routing_record){.rules = ""};
	return 0;
}

int store_routing_set(struct store *s, const struct routing_record *r, struct error *err)
{
	return store_change_query(s, QUERY_ROUTING_SET, r, err) < 0 ? -1 : 0;
}
