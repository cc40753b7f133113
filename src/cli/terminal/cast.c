/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/cast.h"

#include <string.h>

#include "json/json.h"

#define SECONDS_MAX 1e9

int cast_parse_head(struct arena *a, struct span line, int64_t *ret_columns, int64_t *ret_rows,
                    struct error *err)
{
	const struct json_value *head;

	if (json_load(a, line, &head, err) < 0)
		return FAIL_CONTEXT(err, "the first line is not the header of a recording");
	if (json_get_whole(head, "version", 0) != 2)
		return FAIL(err, ERROR_INVALID, "not an asciicast of version 2");
	*ret_columns = json_get_whole(head, "width", 80);
	*ret_rows = json_get_whole(head, "height", 24);
	return 0;
}

int cast_parse_event(struct arena *a, struct span line, struct cast_event *ret, struct error *err)
{
	const struct json_value *event, *time, *kind, *data;
	double seconds;

	if (json_load(a, line, &event, err) < 0)
		return -1;
	time = json_item_at(event, 0);
	kind = json_item_at(event, 1);
	data = json_item_at(event, 2);
	seconds = json_number(time, -1);
	if (!(seconds >= 0 && seconds <= SECONDS_MAX) || !json_text(kind, NULL) ||
	    !json_text(data, NULL))
		return FAIL(err, ERROR_INVALID, "expected an event [seconds, kind, data]");
	*ret = (struct cast_event){.at_us = (int64_t)(seconds * 1e6)};
	if (strcmp(json_text(kind, ""), "o") == 0)
		ret->bytes = span_of(json_text(data, ""));
	return 0;
}
