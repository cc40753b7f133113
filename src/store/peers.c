/* SPDX-License-Identifier: Apache-2.0 */
#include "store/peers.h"

#include "store/column_rows.h"
#include "store/query.h"

const struct column columns_of_peer_record[] = {
        TEXT_OF(peer_record, node),
        TEXT_OF(peer_record, url),
        WHOLE_OF(peer_record, seen_at),
        END,
};

static int run_put(struct store_connection *c, void *context, struct error *err)
{
	return query_run(c, QUERY_PEER_PUT, context, NULL, err) < 0 ? -1 : 0;
}

int store_peer_put(struct store *s, const struct peer_record *r, struct error *err)
{
	struct peer_record record = *r;
	/* A server rewrites its row a few seconds later when a crash loses it. */
	const struct transaction transaction = {
	        .run = run_put, .context = &record, .is_lazy = true};

	return store_change(s, &transaction, err);
}

int store_peer_remove(struct store *s, const char *node, struct error *err)
{
	const struct record_lookup lookup = {.id = node};

	return store_change_query(s, QUERY_PEER_REMOVE, &lookup, err) < 0 ? -1 : 0;
}

int store_peer_find(struct store *s, struct arena *a, const char *node, struct peer_record *ret,
                    struct error *err)
{
	const struct record_lookup lookup = {.id = node};
	struct rows rows = {.arena = a, .size = sizeof(*ret)};

	if (store_read_query(s, QUERY_PEER_FIND, &lookup, &rows, err) < 0)
		return -1;
	if (rows.count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "node '%s' has published no address", node);
	*ret = *(const struct peer_record *)rows.items;
	return 0;
}
