/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/range.h"

#include <inttypes.h>
#include <string.h>

#include "http/server/exchange.h"

bool range_parse(const char *text, uint64_t *ret_offset, uint64_t *ret_size)
{
	struct span rest, first;
	struct error ignored;
	int64_t from, to = 0;

	if (!text || strncmp(text, "bytes=", 6) != 0)
		return false;
	rest = span_of(text + 6);
	if (!span_split(&rest, '-', &first) ||
	    span_parse_whole(first, 0, INT64_MAX - 1, &from, &ignored) < 0)
		return false;
	if (rest.size > 0 && span_parse_whole(rest, from, INT64_MAX - 1, &to, &ignored) < 0)
		return false;
	*ret_offset = (uint64_t)from;
	*ret_size = rest.size > 0 ? (uint64_t)(to - from) + 1 : 0;
	return true;
}

int range_fail(const struct request *rq, const char *what, uint64_t whole, struct error *err)
{
	rq->exchange->knows_whole = true;
	rq->exchange->whole = whole;
	(void)FAIL(err, ERROR_RANGE, "the range begins behind the end of the %s", what);
	return FAIL_HINT(err, "it has %" PRIu64 " bytes", whole);
}
