/* SPDX-License-Identifier: Apache-2.0 */
/* store/pages.h — paged lists. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "store/queries.h"

struct rows;

/* Limits `wanted` to 1..1000. */
unsigned list_limit(int64_t wanted);

/* Where a page of a list begins that is sorted by created_at and id, newest first. */
struct page_position {
	int64_t page_at;
	const char *page_id;
	int64_t limit; /* one row more than the page has: it tells whether there are more */
};
/* `token` is what page_end returned for the previous page; NULL = the first page. */
MUST_CHECK int page_begin(struct page_position *ret, const char *token, int64_t limit,
                          struct error *err);
/* Leaves the rows of the page in `rows`. Returns the token of the next page, or NULL at the end.
 * The result of the query has the columns created_at and id. */
const char *page_end(const struct page_position *position, enum query_name query,
                     struct rows *rows);
