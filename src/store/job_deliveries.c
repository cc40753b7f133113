/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs.h"
#include "store/column_rows.h"
#include "store/pages.h"
#include "store/query.h"

WORDS_OF(job_delivery, JOB_DELIVERY_COUNT)

COLUMNS_OF(job_delivery_change);
COLUMNS_OF(job_delivery_page);

int store_job_to_deliver(struct store *s, struct arena *a, int64_t now, struct job_list *ret,
                         struct error *err)
{
	return store_list_query(s, QUERY_JOB_TO_DELIVER, LOOKUP(.now = now), LIST_INTO(a, ret),
	                        err);
}

int store_job_next_delivery(struct store *s, int64_t *ret_at, struct error *err)
{
	return store_count_query(s, QUERY_JOB_NEXT_DELIVERY, NULL, ret_at, err);
}

static int change_delivery(struct store *s, enum query_name query,
                           const struct job_delivery_change *c, struct error *err)
{
	return ROW_OR(store_change_query(s, query, c, err),
	              FAIL(err, ERROR_CONFLICT, "this attempt is over"));
}

int store_job_delivery_claim(struct store *s, const struct job_delivery_change *c,
                             struct error *err)
{
	return change_delivery(s, QUERY_JOB_DELIVERY_CLAIM, c, err);
}

int store_job_delivery_end(struct store *s, const struct job_delivery_change *c, struct error *err)
{
	return change_delivery(s, QUERY_JOB_DELIVERY_END, c, err);
}

int store_job_deliveries_lost(struct store *s, const struct job_delivery_change *c,
                              struct error *err)
{
	return store_change_query(s, QUERY_JOB_DELIVERIES_LOST, c, err) < 0 ? -1 : 0;
}

int store_job_deliver_again(struct store *s, const struct job_ref *ref, struct error *err)
{
	return ROW_OR(store_change_query(s, QUERY_JOB_DELIVER_AGAIN, ref, err),
	              FAIL(err, ERROR_CONFLICT,
	                   "background job '%.40s' has no message that was delivered or given up",
	                   ref->id));
}

int store_job_deliveries(struct store *s, struct arena *a, const struct job_delivery_page *page,
                         struct job_list *ret, struct error *err)
{
	struct job_delivery_page copy = *page;

	copy.before = page->before > 0 ? page->before : INT64_MAX;
	copy.limit = list_limit(page->limit);
	return store_list_query(s, QUERY_JOB_DELIVERIES, &copy, LIST_INTO(a, ret), err);
}
