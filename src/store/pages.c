/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pages.h"

#include <assert.h>
#include <inttypes.h>

#include "base/bytes.h"
#include "base/id.h"
#include "store/driver.h"

#define LIST_MAX 1000

unsigned list_limit(int64_t wanted)
{
	return wanted < 1 ? 1 : wanted > LIST_MAX ? LIST_MAX : (unsigned)wanted;
}

int page_begin(struct page_position *ret, const char *token, int64_t limit, struct error *err)
{
	struct span rest = span_of(token), time;
	int64_t at = INT64_MAX;

	if (token && (!span_split(&rest, '-', &time) || !id_is_valid(rest.data) ||
	              span_parse_whole(time, 0, INT64_MAX, &at, err) < 0))
		return FAIL(err, ERROR_INVALID, "page '%.60s' is not one that a list has answered",
		            token);
	*ret = (struct page_position){at, token ? rest.data : "", (int64_t)list_limit(limit) + 1};
	return 0;
}

const char *page_end(const struct page_position *position, enum query_name query, struct rows *rows)
{
	const struct store_query *q = &store_queries[query];
	const char *last;

	assert(position->limit > 1 && q->gives);
	if (rows->count < (size_t)position->limit)
		return NULL;
	rows->count = (size_t)position->limit - 1;
	last = (const char *)rows->items + (rows->count - 1) * rows->size;
	return arena_format(
	        rows->arena, "%" PRId64 "-%s",
	        *(const int64_t *)(last + query_column(q, q->gives, "created_at")->offset),
	        *(const char *const *)(last + query_column(q, q->gives, "id")->offset));
}
