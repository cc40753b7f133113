/* SPDX-License-Identifier: Apache-2.0 */
#include "store/secret_windows.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "store/column_rows.h"
#include "store/query.h"

COLUMNS_OF(secret_window);

int store_secret_window_insert(struct store *s, const struct secret_window *w, struct error *err)
{
	return store_change_query(s, QUERY_SECRET_WINDOW_INSERT, w, err) < 0 ? -1 : 0;
}

int store_secret_window_list(struct store *s, struct arena *a, const char *sandbox_id, int64_t now,
                             struct secret_window_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_SECRET_WINDOW_LIST, LOOKUP(.id = sandbox_id, .now = now),
	                        LIST_INTO(a, ret), err);
}

int store_secret_window_list_of_node(struct store *s, struct arena *a, const char *node,
                                     int64_t now, struct secret_window_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_SECRET_WINDOW_LIST_OF_NODE, LOOKUP(.id = node, .now = now),
	                        LIST_INTO(a, ret), err);
}

int store_secret_window_remove(struct store *s, const struct secret_window *w, struct error *err)
{
	return store_change_query(s, QUERY_SECRET_WINDOW_REMOVE, w, err) < 0 ? -1 : 0;
}

int store_secret_window_refuse(struct store *s, const char *sandbox_id, const char *what,
                               struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct secret_window_list found;

	if (store_secret_window_list(s, &a, sandbox_id, clock_unix_ms(), &found, err) < 0)
		return -1;
	if (found.count == 0)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT,
	           "terminal window '%s' has values of credentials in its memory, which %s would "
	           "keep",
	           found.items[0].name, what);
	return FAIL_HINT(err,
	                 "close the window, or revoke the consent; it is known a minute later");
}
