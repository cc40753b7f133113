/* SPDX-License-Identifier: Apache-2.0 */
#include "config/value.h"

#include <math.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "config/config.h"
#include "config/option.h"

#define TEXT_SIZE_MAX 4096

struct unit {
	const char *name;
	int64_t factor;
};

/* Largest unit first; the last unit divides all values. */
static const struct unit duration_units[] = {
        {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};
static const struct unit size_units[] = {
        {"T", INT64_C(1) << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"", 1},
};

static void write_in_units(struct buf *out, int64_t value, const struct unit *unit)
{
	while (value % unit->factor != 0)
		unit++;
	buf_addf(out, "%lld%s", (long long)(value / unit->factor), unit->name);
}

static void write_duration(struct buf *out, int64_t ms)
{
	if (ms == 0)
		buf_add_text(out, "0s");
	else
		write_in_units(out, ms, duration_units);
}

static void write_size(struct buf *out, int64_t bytes)
{
	if (bytes == 0)
		buf_add_text(out, "0");
	else
		write_in_units(out, bytes, size_units);
}

static void write_whole(struct buf *out, int64_t value)
{
	buf_addf(out, "%lld", (long long)value);
}

static bool parse_whole(struct span text, int64_t *ret)
{
	return span_parse_whole(text, 0, INT64_MAX, ret, &(struct error){0}) == 0;
}

static bool parse_duration(struct span text, int64_t *ret)
{
	return duration_parse(text, ret, &(struct error){0}) == 0;
}

static bool parse_size(struct span text, int64_t *ret)
{
	int64_t factor = 1;

	for (size_t i = 0; i < COUNT_OF(size_units); i++) {
		const struct unit *unit = &size_units[i];

		if (unit->name[0] && text.size > 0 && text.data[text.size - 1] == unit->name[0]) {
			factor = unit->factor;
			text.size--;
			break;
		}
	}
	if (span_parse_whole(text, 0, INT64_MAX / factor, ret, &(struct error){0}) < 0)
		return false;
	*ret *= factor;
	return true;
}

/* The kinds that are stored as int64_t. */
static const struct {
	const char *what;
	bool (*parse)(struct span text, int64_t *ret);
	void (*write)(struct buf *out, int64_t value);
} wholes[] = {
        [CONFIG_WHOLE] = {"a whole number", parse_whole, write_whole},
        [CONFIG_DURATION] = {"a duration such as 90s, 15m, 24h or 7d", parse_duration,
                             write_duration},
        [CONFIG_SIZE] = {"a size such as 256K, 64M or 2G", parse_size, write_size},
};

static int set_whole(const struct config_option *option, const char *text, int64_t *slot,
                     struct error *err)
{
	AUTO(buf_done) struct buf bounds = BUF(128);
	int64_t value;

	if (wholes[option->kind].parse(span_of(text), &value) && value >= option->min &&
	    value <= option->max) {
		*slot = value;
		return 0;
	}
	value_write_bounds(&bounds, option);
	return FAIL(err, ERROR_INVALID, "expected %s, %s", wholes[option->kind].what,
	            buf_text(&bounds));
}

static int set_number(const struct config_option *option, const char *text, double *slot,
                      struct error *err)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(value) || value < (double)option->min ||
	    value > (double)option->max)
		return FAIL(err, ERROR_INVALID, "expected a number from %lld to %lld",
		            (long long)option->min, (long long)option->max);
	*slot = value;
	return 0;
}

static int set_bool(const char *text, bool *slot, struct error *err)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {{"true", true},   {"on", true},   {"yes", true}, {"1", true},
	             {"false", false}, {"off", false}, {"no", false}, {"0", false}};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (strcmp(words[i].word, text) == 0) {
			*slot = words[i].value;
			return 0;
		}
	}
	return FAIL(err, ERROR_INVALID, "expected true or false");
}

static int check_choice(const struct config_option *option, const char *text, struct error *err)
{
	AUTO(buf_done) struct buf words = BUF(128);

	for (size_t i = 0; option->choices[i]; i++) {
		if (strcmp(option->choices[i], text) == 0)
			return 0;
	}
	value_write_bounds(&words, option);
	return FAIL(err, ERROR_INVALID, "expected one of %s", buf_text(&words));
}

/* Refuses what log lines, messages to the broker and YAML cannot hold. */
static int check_text(const char *text, struct error *err)
{
	size_t size = strlen(text);

	if (size > TEXT_SIZE_MAX)
		return FAIL(err, ERROR_INVALID, "longer than %d bytes", TEXT_SIZE_MAX);
	if (!span_is_utf8((struct span){text, size}))
		return FAIL(err, ERROR_INVALID, "not valid UTF-8");
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return FAIL(err, ERROR_INVALID, "control characters are not allowed");
	}
	return 0;
}

static int set_text(struct arena *a, const struct config_option *option, const char *text,
                    const char **slot, struct error *err)
{
	if (check_text(text, err) < 0)
		return -1;
	if (option->choices && check_choice(option, text, err) < 0)
		return -1;
	if (option->check && option->check(text, err) < 0)
		return -1;
	*slot = arena_text(a, text);
	return 0;
}

int value_set(struct arena *a, const struct config_option *option, const char *text,
              struct config *config, struct error *err)
{
	void *slot = (char *)config + option->offset;

	if (option->kind == CONFIG_TEXT)
		return set_text(a, option, text, slot, err);
	if (option->kind == CONFIG_NUMBER)
		return set_number(option, text, slot, err);
	if (option->kind == CONFIG_BOOL)
		return set_bool(text, slot, err);
	return set_whole(option, text, slot, err);
}

/* Only single quotes are escaped: texts hold no control characters. */
void value_write_quoted(struct buf *out, const char *text)
{
	buf_add_byte(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			buf_add_byte(out, '\'');
		buf_add_byte(out, *text);
	}
	buf_add_byte(out, '\'');
}

void value_write(struct buf *out, const struct config_option *option, const struct config *config)
{
	const void *slot = (const char *)config + option->offset;

	if (option->kind == CONFIG_TEXT)
		value_write_quoted(out, *(const char *const *)slot);
	else if (option->kind == CONFIG_NUMBER)
		buf_addf(out, "%.15g", *(const double *)slot);
	else if (option->kind == CONFIG_BOOL)
		buf_add_text(out, *(const bool *)slot ? "true" : "false");
	else
		wholes[option->kind].write(out, *(const int64_t *)slot);
}

void value_write_bounds(struct buf *out, const struct config_option *option)
{
	for (size_t i = 0; option->choices && option->choices[i]; i++)
		buf_addf(out, "%s%s", i > 0 ? ", " : "", option->choices[i]);
	if (option->kind == CONFIG_TEXT || option->kind == CONFIG_BOOL)
		return;
	buf_add_text(out, "from ");
	if (option->kind == CONFIG_NUMBER) {
		buf_addf(out, "%lld to %lld", (long long)option->min, (long long)option->max);
		return;
	}
	wholes[option->kind].write(out, option->min);
	buf_add_text(out, " to ");
	wholes[option->kind].write(out, option->max);
}
