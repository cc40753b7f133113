/* SPDX-License-Identifier: Apache-2.0 */
#include "config/setting.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sandbox/price.h"

const struct item_setting *setting_find(const struct item_setting *table, struct span name)
{
	for (; table->name; table++)
		if (span_equals_text(name, table->name))
			return table;
	return NULL;
}

static int parse_bool(struct span value, bool *ret, struct error *err)
{
	*ret = span_equals_text(value, "true");
	return *ret || span_equals_text(value, "false")
	               ? 0
	               : FAIL(err, ERROR_INVALID, "'%.*s' is not true or false", (int)value.size,
	                      value.data);
}

/* Digits and one point: no sign, exponent or "inf". */
static int parse_number(struct arena *a, struct span value, double *ret, struct error *err)
{
	const char *text = arena_copy(a, value);
	char *end;

	if (!*text || strspn(text, "0123456789.") != strlen(text))
		return FAIL(err, ERROR_INVALID, "'%.40s' is not a number such as 0.5", text);
	*ret = strtod(text, &end);
	return *end ? FAIL(err, ERROR_INVALID, "'%.40s' is not a number such as 0.5", text) : 0;
}

static int parse_bounded_number(struct arena *a, const struct item_setting *s, struct span value,
                                double *ret, struct error *err)
{
	double number;

	if (parse_number(a, value, &number, err) < 0)
		return -1;
	if (number < (double)s->min || number > (double)s->max)
		return FAIL(err, ERROR_INVALID, "%g is not within %" PRId64 " … %" PRId64, number,
		            s->min, s->max);
	*ret = number;
	return 0;
}

static int parse_money(struct arena *a, struct span value, int64_t *ret, struct error *err)
{
	double usd;

	return parse_number(a, value, &usd, err) < 0 ? -1 : money_of_usd(usd, ret, err);
}

static int parse_duration(const struct item_setting *s, struct span value, int64_t *ret,
                          struct error *err)
{
	int64_t ms;

	if (duration_parse(value, &ms, err) < 0)
		return -1;
	if (ms < s->min || ms > s->max)
		return FAIL(err, ERROR_INVALID, "'%.*s' is not within %" PRId64 "ms … %" PRId64 "s",
		            (int)value.size, value.data, s->min, s->max / 1000);
	*ret = ms;
	return 0;
}

int setting_set(struct arena *a, const struct item_setting *s, struct span value, void *item,
                struct error *err)
{
	void *member = (char *)item + s->offset;

	switch (s->kind) {
	case SETTING_TEXT:
		*(const char **)member = arena_copy(a, value);
		return value.size > 0 ? 0 : FAIL(err, ERROR_INVALID, "it is empty");
	case SETTING_WHOLE:
		return span_parse_whole(value, s->min, s->max, member, err);
	case SETTING_NUMBER:
		return parse_bounded_number(a, s, value, member, err);
	case SETTING_BOOL:
		return parse_bool(value, member, err);
	case SETTING_MONEY:
		return parse_money(a, value, member, err);
	case SETTING_DURATION:
		return parse_duration(s, value, member, err);
	}
	return FAIL(err, ERROR_INVALID, "unknown kind of setting");
}

const char *setting_names(struct arena *a, const struct item_setting *table)
{
	const char *names = "";

	for (; table->name; table++)
		names = arena_format(a, "%s%s%s", names, *names ? ", " : "", table->name);
	return names;
}
