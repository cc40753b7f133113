/* SPDX-License-Identifier: Apache-2.0 */
#include "store/summary.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "store/column_rows.h"
#include "store/query.h"

WORDS_OF(sandbox_state, SANDBOX_STATE_COUNT)

struct summary_search {
	const char *project_id;
	int64_t now, hidden_traits;
};
struct state_tally {
	enum sandbox_state actual;
	int64_t count;
};
struct state_tallies {
	const struct state_tally *items;
	size_t count;
};

COLUMNS_OF(summary_search);
COLUMNS_OF(summary_counts);
COLUMNS_OF(state_tally);

int store_summary(struct store *s, const char *project_id, struct project_summary *ret,
                  struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct summary_search search = {project_id, clock_unix_ms(), SANDBOX_IN_BACKGROUND};
	struct project_summary summary = {.counts = {0}};
	struct state_tallies tallies;

	if (store_list_query(s, QUERY_SUMMARY_STATES, &search, LIST_INTO(&arena, &tallies), err) <
	            0 ||
	    store_find_query(s, QUERY_SUMMARY_COUNTS, &search, INTO(&arena, &summary.counts), err) <
	            0)
		return -1;
	for (size_t i = 0; i < tallies.count; i++)
		summary.sandboxes[tallies.items[i].actual] = tallies.items[i].count;
	*ret = summary;
	return 0;
}
