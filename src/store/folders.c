/* SPDX-License-Identifier: Apache-2.0 */
#include "store/folders.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "store/column_rows.h"
#include "store/query.h"

COLUMNS_OF(folder_record);

void store_folder_add_line(const struct folder_record *r, struct buf *out)
{
	buf_addf(out, FOLDER_FORMAT " %s %s %" PRId64 "\n", r->node, r->pairing, r->generation);
}

int store_folder_put(struct store *s, const struct folder_record *r, struct error *err)
{
	return store_change_query(s, QUERY_FOLDER_PUT, r, err) < 0 ? -1 : 0;
}

int store_folder_find(struct store *s, struct arena *a, const char *node, struct folder_record *ret,
                      struct error *err)
{
	return ROW_OR(
	        store_find_query(s, QUERY_FOLDER_FIND, LOOKUP(.id = node), INTO(a, ret), err),
	        FAIL(err, ERROR_NOT_FOUND, "the store knows no data folder of node '%s'", node));
}

static int run_beat(struct store_connection *c, void *context, struct error *err)
{
	const struct folder_record *r = context;

	return ROW_OR(query_run(c, QUERY_FOLDER_BEAT, r, NULL, err),
	              FAIL(err, ERROR_CONFLICT,
	                   "the data folder of node '%s' is in another server's hands", r->node));
}

int store_folder_beat(struct store *s, const struct folder_record *r, bool is_lazy,
                      struct error *err)
{
	return store_transact(s, &(struct transaction){run_beat, r, is_lazy}, err);
}

static int run_shift(struct store_connection *c, void *context, struct error *err)
{
	/* The leases first, because their query finds their sandboxes. */
	if (query_run(c, QUERY_FOLDER_SHIFT_LEASES, context, NULL, err) < 0 ||
	    query_run(c, QUERY_FOLDER_SHIFT_SANDBOXES, context, NULL, err) < 0)
		return -1;
	return 0;
}

int store_folder_shift(struct store *s, const char *node, int64_t by_ms, struct error *err)
{
	if (store_change(s, run_shift, LOOKUP(.id = node, .now = by_ms), err) < 0)
		return FAIL_CONTEXT(err, "move the times of sandboxes");
	return 0;
}
