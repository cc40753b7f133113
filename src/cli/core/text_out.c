/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/text_out.h"

#include <string.h>

#define JSON_TEXT_SIZE_MAX (128u * 1024 * 1024)

const char *text_out_safe(struct arena *a, const char *text)
{
	char *copy = arena_text(a, text);

	bool is_utf8 = span_is_utf8(span_of(copy));

	for (char *at = copy; *at;) {
		unsigned char c = (unsigned char)*at;
		size_t hostile =
		        is_utf8 ? span_hostile(span_of(at)) : (size_t)(c < ' ' || c >= 0x7F);

		memset(at, '?', hostile);
		at += hostile > 0 ? hostile : 1;
	}
	return copy;
}

const char *text_out_bytes(struct arena *a, double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	unsigned unit = 0;

	while (bytes >= 1024 && unit + 1 < COUNT_OF(units)) {
		bytes /= 1024;
		unit++;
	}
	return arena_format(a, unit && bytes < 10 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

const char *text_out_duration(struct arena *a, int64_t ms)
{
	int seconds = (int)(ms / 1000 % 60), minutes = (int)(ms / 60000 % 60),
	    hours = (int)(ms / 3600000 % 24);
	long long days = ms / 86400000;

	if (ms < 0)
		return "-";
	if (days > 0)
		return arena_format(a, "%lldd %dh", days, hours);
	if (hours > 0)
		return arena_format(a, "%dh %dm", hours, minutes);
	if (minutes > 0)
		return arena_format(a, "%dm %ds", minutes, seconds);
	return arena_format(a, "%ds", seconds);
}

void text_out_error(struct arena *a, const char *subject, const struct error *err)
{
	(void)fprintf(stderr, "atoll: %s%s\n", text_out_safe(a, subject),
	              text_out_safe(a, err->text));
	if (err->hint[0])
		(void)fprintf(stderr, "  hint: %s\n", text_out_safe(a, err->hint));
}

void print_json(const struct json_value *value)
{
	AUTO(buf_done) struct buf text = BUF(JSON_TEXT_SIZE_MAX);

	json_print(&text, value, 2);
	(void)printf("%s\n", buf_text(&text));
}
