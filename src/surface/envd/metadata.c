/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "json/write.h"
#include "surface/envd/envd.h"
#include "surface/envd/files.h"

#define PREFIX "X-Metadata-"
#define KEY_MAX 246 /* the name of an attribute without its prefix */
#define TOTAL_MAX 4096

struct header_metadata {
	struct arena *arena;
	struct buf lines;
	size_t total;
};

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			return false;
	return true;
}

static bool has_key(const struct header_metadata *m, const char *key)
{
	struct span rest = buf_span(&m->lines), line, name;

	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		if (span_split(&line, '=', &name) && span_equals_text(name, key))
			return true;
	}
	return false;
}

/* Of two headers with the same key the first one counts. */
static int add_header(void *context, const char *name, const char *value, struct error *err)
{
	struct header_metadata *m = context;
	size_t prefix = sizeof(PREFIX) - 1;
	char *key;

	if (strncasecmp(name, PREFIX, prefix) != 0)
		return 0;
	key = arena_text(m->arena, name + prefix);
	for (char *c = key; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (!key[0] || strlen(key) > KEY_MAX || strchr(key, '=') || !is_printable(value))
		return FAIL(err, ERROR_INVALID,
		            "metadata '%.64s' is not printable ASCII with a key of 1 to %d bytes",
		            key, KEY_MAX);
	if (has_key(m, key))
		return 0;
	m->total += sizeof(ENVD_METADATA) - 1 + strlen(key) + strlen(value);
	if (m->total > TOTAL_MAX)
		return FAIL(err, ERROR_INVALID, "the metadata is larger than %d bytes", TOTAL_MAX);
	buf_addf(&m->lines, "%s=%s\n", key, value);
	return 0;
}

int envd_metadata_read(struct request *rq, const char **ret, struct error *err)
{
	struct header_metadata m = {.arena = rq->arena, .lines = BUF(3 * TOTAL_MAX)};
	int result = request_each_header(rq, add_header, &m, err);

	*ret = arena_format(rq->arena, "%s\n%s", ENVD_METADATA, buf_text(&m.lines));
	buf_done(&m.lines);
	return result;
}

/* Writes "name=value" as a member of an object. */
static void write_pair(struct buf *out, struct span pair)
{
	struct span name;

	(void)span_split(&pair, '=', &name);
	json_add_span(out, NULL, name);
	buf_add_byte(out, ':');
	json_write_text(out, pair);
}

void envd_write_pairs(struct buf *out, const char *name, const char *const *pairs)
{
	json_begin_object(out, name);
	for (size_t i = 0; pairs[i]; i++)
		write_pair(out, span_of(pairs[i]));
	json_end_object(out);
}

void envd_metadata_write(struct buf *out, const char *name, const char *attributes)
{
	struct span rest = span_of(attributes), line;

	(void)span_split(&rest, '\n', &line);
	json_begin_object(out, name);
	while (span_split(&rest, '\n', &line))
		write_pair(out, line);
	json_end_object(out);
}
