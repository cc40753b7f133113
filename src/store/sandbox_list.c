/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of sandboxes: conditions, orders and pages. */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/id.h"
#include "json/write.h"
#include "store/column_rows.h"
#include "store/pages.h"
#include "store/query.h"
#include "store/sandboxes.h"
#include "store/touches.h"

struct sandbox_page {
	struct sandbox_filter filter;
	int64_t hidden_traits;
	struct page_position position;
	const char *page_text; /* of the last row of the page before; "" = the first page */
};

COLUMNS_OF(sandbox_page);

/* A page is named by the last row of the page before: "PREFIX VALUE - ID". Another order has
 * another prefix, so that it refuses the name. */
struct sandbox_order_row {
	const char *prefix;
	enum query_name down, up;
	bool is_text;
	size_t offset; /* of the value in a record; of SANDBOX_BY_STATE the value is its name */
};
static const struct sandbox_order_row orders[] = {
        [SANDBOX_BY_CREATED] = {"", QUERY_SANDBOX_LIST, QUERY_SANDBOX_LIST_OLDEST, false,
                                offsetof(struct sandbox_record, created_at)},
        [SANDBOX_BY_ACTIVITY] = {"activity.", QUERY_SANDBOX_LIST_ACTIVE,
                                 QUERY_SANDBOX_LIST_INACTIVE, false,
                                 offsetof(struct sandbox_record, last_activity_at)},
        [SANDBOX_BY_NAME] = {"name.", QUERY_SANDBOX_LIST_NAMES_DOWN, QUERY_SANDBOX_LIST_NAMES, true,
                             0},
        [SANDBOX_BY_STATE] = {"state.", QUERY_SANDBOX_LIST_STATES_DOWN, QUERY_SANDBOX_LIST_STATES,
                              true, 0},
};
_Static_assert(COUNT_OF(orders) == SANDBOX_ORDER_COUNT, "a row per order");

static bool shows_builds(const struct sandbox_filter *filter)
{
	return filter->with_builds ||
	       (filter->label_key && strcmp(filter->label_key, SANDBOX_BUILD_LABEL) == 0);
}

static const char *state_object(struct arena *a, int state)
{
	AUTO(buf_done) struct buf out = BUF(64);

	json_begin_object(&out, NULL);
	json_add_bool(&out, sandbox_state_name((enum sandbox_state)state), true);
	json_end_object(&out);
	return arena_copy(a, buf_span(&out));
}

static void fill_conditions(struct arena *a, const struct sandbox_filter *filter,
                            struct sandbox_page *ret)
{
	*ret = (struct sandbox_page){
	        .filter = *filter,
	        .hidden_traits = shows_builds(filter) ? 0 : SANDBOX_IN_BACKGROUND,
	        .page_text = "",
	};
	if (!filter->states && filter->state >= 0)
		ret->filter.states = state_object(a, filter->state);
}

static int refuse_page(const char *token, struct error *err)
{
	return FAIL(err, ERROR_INVALID, "page '%.60s' is not one that a list has answered", token);
}

/* The value of a text may have '-'; an id has none. */
static int read_text_page(struct arena *a, const char *token, struct sandbox_page *page,
                          struct error *err)
{
	const char *dash = strrchr(token, '-');

	if (!dash || dash == token || !id_is_valid(dash + 1))
		return refuse_page(token, err);
	page->page_text = arena_copy(a, (struct span){token, (size_t)(dash - token)});
	page->position.page_id = dash + 1;
	return 0;
}

static int begin_list(struct arena *a, const struct sandbox_order_row *order,
                      struct sandbox_page *page, struct error *err)
{
	const char *token = page->filter.page;
	size_t prefix = strlen(order->prefix);

	if (token && strncmp(token, order->prefix, prefix) != 0)
		return refuse_page(token, err);
	if (page_begin(&page->position, token && !order->is_text ? token + prefix : NULL,
	               page->filter.limit, err) < 0)
		return -1;
	if (page->filter.ascending && page->filter.project_id && !token)
		page->position.page_at = 0;
	return token && order->is_text ? read_text_page(a, token + prefix, page, err) : 0;
}

static const char *name_next_page(struct arena *a, unsigned order,
                                  const struct sandbox_record *last)
{
	const struct sandbox_order_row *o = &orders[order];
	const char *text = order == SANDBOX_BY_NAME ? last->name : sandbox_state_name(last->actual);

	if (o->is_text)
		return arena_format(a, "%s%s-%s", o->prefix, text, last->id);
	return arena_format(a, "%s%" PRId64 "-%s", o->prefix,
	                    *(const int64_t *)((const char *)last + o->offset), last->id);
}

static void end_list(struct store *s, struct arena *a, const struct sandbox_page *page,
                     struct sandbox_list *list)
{
	if (list->count == (size_t)page->position.limit) {
		list->count--;
		list->next_page =
		        name_next_page(a, page->filter.order, &list->items[list->count - 1]);
	}
	for (size_t i = 0; i < list->count; i++)
		list->items[i].last_activity_at = touches_latest(
		        s, TOUCHED_SANDBOX, list->items[i].id, list->items[i].last_activity_at);
}

int store_sandbox_list(struct store *s, struct arena *a, const struct sandbox_filter *filter,
                       struct sandbox_list *ret, struct error *err)
{
	const struct sandbox_order_row *order = &orders[filter->order];
	enum query_name query = filter->ascending ? order->up : order->down;
	struct sandbox_page page;

	fill_conditions(a, filter, &page);
	if (begin_list(a, order, &page, err) < 0 ||
	    store_list_query(s, filter->project_id ? query : QUERY_SANDBOX_LIST_ALL, &page,
	                     LIST_INTO(a, ret), err) < 0)
		return -1;
	end_list(s, a, &page, ret);
	return 0;
}

int store_sandbox_total(struct store *s, const struct sandbox_filter *filter, int64_t *ret,
                        struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_page page;

	fill_conditions(&arena, filter, &page);
	return store_count_query(s, QUERY_SANDBOX_TOTAL, &page, ret, err);
}
