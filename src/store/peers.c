/* SPDX-License-Identifier: Apache-2.0 */
#include "store/peers.h"

#include "store/column_rows.h"
#include "store/query.h"

COLUMNS_OF(peer_record);
COLUMNS_OF(sandbox_takeover);

int store_peer_put(struct store *s, const struct peer_record *r, struct error *err)
{
	/* A server rewrites its row a few seconds later when a crash loses it. */
	return store_change_query_lazily(s, QUERY_PEER_PUT, r, err) < 0 ? -1 : 0;
}

int store_peer_remove(struct store *s, const char *node, struct error *err)
{
	return store_change_query(s, QUERY_PEER_REMOVE, LOOKUP(.id = node), err) < 0 ? -1 : 0;
}

int store_peer_find(struct store *s, struct arena *a, const char *node, struct peer_record *ret,
                    struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_PEER_FIND, LOOKUP(.id = node), INTO(a, ret), err),
	              FAIL(err, ERROR_NOT_FOUND, "node '%s' has published no address", node));
}

int store_peer_list(struct store *s, struct arena *a, struct peer_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_PEER_LIST, NULL, LIST_INTO(a, ret), err);
}

int store_peer_end(struct store *s, const struct peer_record *r, struct error *err)
{
	return store_change_query(s, QUERY_PEER_END, r, err);
}

int store_peer_purge(struct store *s, int64_t before, struct error *err)
{
	return store_change_query(s, QUERY_PEER_PURGE, LOOKUP(.now = before), err) < 0 ? -1 : 0;
}

int store_sandbox_take_over(struct store *s, const struct sandbox_takeover *takeover,
                            struct error *err)
{
	return store_change_query(s, QUERY_SANDBOX_TAKE_OVER, takeover, err);
}
