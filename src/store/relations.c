/* SPDX-License-Identifier: Apache-2.0 */
#include "store/relations.h"

#include <string.h>

#include "store/column_rows.h"
#include "store/query.h"

struct relation_search {
	const char *id;
	int64_t below_max;
};

NAMES_OF(relation_kind, RELATION_KIND_COUNT, [RELATION_BACKUP] = "backup",
         [RELATION_BELOW] = "below", [RELATION_ORIGIN] = "origin", [RELATION_VOLUME] = "volume")

COLUMNS_OF(relation_record);
COLUMNS_OF(relation_search);
COLUMNS_OF(relation_page);

int store_relations_of(struct store *s, struct arena *a, const char *id, struct relation_list *ret,
                       struct error *err)
{
	const struct relation_search search = {id, RELATION_BELOW_MAX};

	return store_list_query(s, QUERY_RELATION_LIST, &search, LIST_INTO(a, ret), err);
}

int store_relations_of_page(struct store *s, struct arena *a, const struct relation_page *page,
                            struct relation_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_RELATION_LIST_OF_PAGE, page, LIST_INTO(a, ret), err);
}

int store_relations_of_snapshots(struct store *s, struct arena *a, const struct relation_page *page,
                                 struct relation_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_RELATION_LIST_OF_SNAPSHOTS, page, LIST_INTO(a, ret), err);
}

struct relation_list relations_of(const struct relation_list *list, const char *id)
{
	size_t first = 0, end = list->count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (strcmp(list->items[middle].of_id, id) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	while (end < list->count && strcmp(list->items[end].of_id, id) == 0)
		end++;
	/* An empty list may have no array, and arithmetic on a NULL pointer is undefined. */
	return end > first ? (struct relation_list){list->items + first, end - first}
	                   : (struct relation_list){0};
}
