/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "job/channel.h"
#include "job/parts.h"
#include "json/json.h"

#define TEXT_BYTES_MAX ((size_t)512 * 1024)
#define COMMAND_UNITS 200
#define FENCE "```"
/* A character without width between backticks that would end the fence. */
#define NO_WIDTH "\xe2\x80\x8b"

/* A C string holds no NUL: U+FFFD stands for it. */
static const char *without_nul(struct arena *a, const char *json)
{
	char *copy = arena_text(a, json);

	for (char *at = copy; *at; at++) {
		if (*at != '\\')
			continue;
		at++;
		if (strncmp(at, "u0000", 5) == 0)
			memcpy(at, "ufffd", 5);
	}
	return copy;
}

struct span job_text_of(struct arena *a, const char *json)
{
	const struct json_value *value;
	const char *whole = arena_format(a, "{\"text\":%s}", *json ? without_nul(a, json) : "\"\"");

	if (json_load(a, span_of(whole), &value, &(struct error){0}) < 0)
		return (struct span){NULL, 0};
	return span_of(json_text(json_get(value, "text"), ""));
}

/* Units of the character that begins with this byte; continuation bytes count 0. */
static size_t units_of(unsigned char c)
{
	if ((c & 0xc0) == 0x80)
		return 0;
	return c >= 0xf0 ? 2 : 1;
}

size_t channel_text_units(const char *text)
{
	size_t units = 0;

	for (; *text; text++)
		units += units_of((unsigned char)*text);
	return units;
}

/* The first units of a text, with a mark if there are more. */
static const char *head_of(struct arena *a, const char *text, size_t units)
{
	const char *at = text;
	size_t used = 0;

	for (; *at && *at != '\n'; at++) {
		used += units_of((unsigned char)*at);
		if (used >= units)
			break;
	}
	if (!*at)
		return text;
	return arena_format(a, "%.*s…", (int)(at - text), text);
}

/* The last units of a text, with a mark if there are more. */
static const char *tail_of(struct arena *a, const char *text, size_t units)
{
	size_t all = channel_text_units(text), skip = all > units ? all - units + 1 : 0;
	const char *at = text;

	if (skip == 0)
		return text;
	for (; *at && (skip > 0 || units_of((unsigned char)*at) == 0); at++) {
		size_t of = units_of((unsigned char)*at);

		skip = of < skip ? skip - of : 0;
	}
	return arena_format(a, "…%s", at);
}

/* Removes control characters, which services refuse, and breaks fences in the text. */
static const char *clean_text(struct arena *a, struct span text, bool has_fences)
{
	AUTO(buf_done) struct buf out = BUF(TEXT_BYTES_MAX);

	for (size_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c == '`' && has_fences && i > 0 && text.data[i - 1] == '`')
			buf_add_text(&out, NO_WIDTH);
		if (c >= ' ' || c == '\n' || c == '\t')
			buf_add_byte(&out, (char)c);
	}
	while (out.size > 0 && out.data[out.size - 1] == '\n')
		out.data[--out.size] = '\0';
	return arena_text(a, buf_text(&out));
}

static const char *first_line(struct arena *a, const struct channel_kind *kind,
                              const struct job_record *r)
{
	const char *command =
	        head_of(a, clean_text(a, span_of(r->command), kind->has_fences), COMMAND_UNITS);
	int64_t seconds = (r->ended_at - r->created_at + 500) / 1000;
	const char *why = *r->reason ? arena_format(a, ": %s", r->reason) : "";

	return arena_format(a, "Background job %s%s (%" PRId64 " s): %s\nresultId %s",
	                    job_state_name(r->state), why, seconds, command, r->id);
}

const char *channel_text(struct arena *a, const struct channel_kind *kind,
                         const struct job_record *r)
{
	const char *begin = kind->has_fences ? "\n" FENCE "\n" : "\n\n";
	const char *end = kind->has_fences ? "\n" FENCE : "";
	const char *head = first_line(a, kind, r);
	struct span out = job_text_of(a, r->stdout_json);
	const char *output;
	size_t used;

	if (out.size == 0)
		out = job_text_of(a, r->stderr_json);
	output = clean_text(a, out, kind->has_fences);
	used = channel_text_units(head) + channel_text_units(begin) + channel_text_units(end);
	if (!*output || used >= kind->text_max)
		return head;
	return arena_format(a, "%s%s%s%s", head, begin, tail_of(a, output, kind->text_max - used),
	                    end);
}
