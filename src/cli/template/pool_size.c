/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/template/pool_size.h"

#include "base/span.h"
#include "json/write.h"

#define POOL_MAX 256

int pool_size_add(struct buf *body, const char *text, struct error *err)
{
	static const char *const members[] = {"target", "min", "max"};
	struct span rest = span_of(text), part;
	unsigned count = 0;
	bool more = true;

	while (more) {
		int64_t value;

		more = span_split(&rest, ':', &part);
		if (count == COUNT_OF(members))
			return FAIL(err, ERROR_INVALID, "'%.64s' is not TARGET[:MIN[:MAX]]", text);
		if (span_parse_whole(part, 0, POOL_MAX, &value, err) < 0)
			return FAIL_CONTEXT(err, "%s of '%.64s'", members[count], text);
		json_add_whole(body, members[count], value);
		count++;
	}
	return 0;
}
