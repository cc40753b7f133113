/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/template/pool_size.h"

#include "base/span.h"

#define POOL_MAX 256

int pool_size_json(struct arena *a, const char *text, const char **ret, struct error *err)
{
	static const char *const members[] = {"target", "min", "max"};
	const char *json = "{";
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
		json = arena_format(a, "%s%s\"%s\":%lld", json, count > 0 ? "," : "",
		                    members[count], (long long)value);
		count++;
	}
	*ret = arena_format(a, "%s}", json);
	return 0;
}
