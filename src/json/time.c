/* SPDX-License-Identifier: Apache-2.0 */
#include "json/time.h"

#include <time.h>

#include "json/json.h"

#define TIME_MS_MAX INT64_C(253402300799999) /* the end of 9999 in UTC */

/* Cuts `count` digits and, when it is not NUL, the byte `after` off the front. */
static bool take_digits(struct span *text, size_t count, char after, int *ret)
{
	size_t size = count + (after != '\0');
	int value = 0;

	if (text->size < size || (after && text->data[count] != after))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (text->data[i] < '0' || text->data[i] > '9')
			return false;
		value = value * 10 + (text->data[i] - '0');
	}
	span_skip(text, size);
	*ret = value;
	return true;
}

static bool take_fraction(struct span *text, int *ret_ms)
{
	int digit, scale = 100;

	*ret_ms = 0;
	if (text->size == 0 || text->data[0] != '.')
		return true;
	span_skip(text, 1);
	if (!take_digits(text, 1, '\0', &digit))
		return false;
	do {
		*ret_ms += digit * scale;
		scale /= 10;
	} while (take_digits(text, 1, '\0', &digit));
	return true;
}

static bool take_offset(struct span *text, int *ret_minutes)
{
	char sign = text->size > 0 ? text->data[0] : '\0';
	int hours, minutes;

	if (sign != 'Z' && sign != '+' && sign != '-')
		return false;
	span_skip(text, 1);
	*ret_minutes = 0;
	if (sign == 'Z')
		return true;
	if (!take_digits(text, 2, ':', &hours) || !take_digits(text, 2, '\0', &minutes) ||
	    hours > 23 || minutes > 59)
		return false;
	*ret_minutes = (hours * 60 + minutes) * (sign == '-' ? -1 : 1);
	return true;
}

/* timegm(3) would silently turn 30 February into 2 March. */
static bool is_on_the_calendar(const struct tm *given)
{
	struct tm copy = *given;

	(void)timegm(&copy);
	return given->tm_year >= 70 && copy.tm_year == given->tm_year &&
	       copy.tm_mon == given->tm_mon && copy.tm_mday == given->tm_mday &&
	       copy.tm_hour == given->tm_hour && copy.tm_min == given->tm_min &&
	       copy.tm_sec == given->tm_sec;
}

bool time_parse(struct span text, int64_t *ret_ms)
{
	struct tm tm = {0};
	int year, month, ms, offset;

	if (!take_digits(&text, 4, '-', &year) || !take_digits(&text, 2, '-', &month) ||
	    !take_digits(&text, 2, 'T', &tm.tm_mday) || !take_digits(&text, 2, ':', &tm.tm_hour) ||
	    !take_digits(&text, 2, ':', &tm.tm_min) || !take_digits(&text, 2, '\0', &tm.tm_sec) ||
	    !take_fraction(&text, &ms) || !take_offset(&text, &offset) || text.size != 0)
		return false;
	tm.tm_year = year - 1900;
	tm.tm_mon = month - 1;
	if (!is_on_the_calendar(&tm))
		return false;
	*ret_ms = ((int64_t)timegm(&tm) - offset * 60) * 1000 + ms;
	return *ret_ms >= 0 && *ret_ms <= TIME_MS_MAX;
}

bool json_time_parse(struct span text, int64_t *ret_ms)
{
	return time_parse(text, ret_ms);
}
