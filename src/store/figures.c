/* SPDX-License-Identifier: Apache-2.0 */
#include "store/figures.h"

#include <stdlib.h>
#include <string.h>

#include "store/column_rows.h"
#include "store/query.h"

COLUMNS_OF(figure_record);

static const enum query_name queries[FIGURE_COUNT] = {
        [FIGURE_VOLUME_BYTES] = QUERY_FIGURE_VOLUME_BYTES,
        [FIGURE_SNAPSHOT_BYTES] = QUERY_FIGURE_SNAPSHOT_BYTES,
        [FIGURE_SNAPSHOT_SANDBOXES] = QUERY_FIGURE_SNAPSHOT_SANDBOXES,
        [FIGURE_TEMPLATE_SANDBOXES] = QUERY_FIGURE_TEMPLATE_SANDBOXES,
};

int store_figures(struct store *s, struct arena *a, enum store_figure figure,
                  const char *project_id, struct figure_list *ret, struct error *err)
{
	return store_list_query(s, queries[figure], LOOKUP(.project_id = project_id),
	                        LIST_INTO(a, ret), err);
}

static int compare_figure(const void *key, const void *item)
{
	return strcmp(key, ((const struct figure_record *)item)->id);
}

int64_t figure_of(const struct figure_list *list, const char *id, int64_t otherwise)
{
	const struct figure_record *found = list->count
	                                            ? bsearch(id, list->items, list->count,
	                                                      sizeof(*list->items), compare_figure)
	                                            : NULL;

	return found ? found->value : otherwise;
}
