/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/id.h"
#include "store/driver.h"

#define LIST_MAX 1000

unsigned list_limit(int64_t wanted)
{
	return wanted < 1 ? 1 : wanted > LIST_MAX ? LIST_MAX : (unsigned)wanted;
}

const char *page_format(struct arena *a, int64_t at, const char *id)
{
	return arena_format(a, "%" PRId64 "-%s", at, id);
}

int page_parse(const char *text, int64_t *ret_at, const char **ret_id, struct error *err)
{
	struct span rest = span_of(text), time;
	int64_t at = INT64_MAX;

	if (text && (!span_split(&rest, '-', &time) || !id_is_valid(rest.data) ||
	             span_parse_whole(time, 0, INT64_MAX, &at, err) < 0))
		return FAIL(err, ERROR_INVALID, "page '%.60s' is not one that a list has answered",
		            text);
	*ret_at = at;
	*ret_id = text ? rest.data : "";
	return 0;
}
