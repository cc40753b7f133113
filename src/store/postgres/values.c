/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/postgres/postgres.h"

/* Of pg_type.h, which belongs to the server; these never change. */
enum {
	TYPE_BYTES = 17,
	TYPE_WHOLE = 20,
	TYPE_TEXT = 25,
	TYPE_NUMBER = 701,
};

enum { FORMAT_TEXT, FORMAT_BINARY };

Oid value_type(const struct column *column)
{
	switch (column->kind) {
	case COLUMN_WHOLE:
	case COLUMN_BOOL:
		return TYPE_WHOLE;
	case COLUMN_NUMBER:
		return TYPE_NUMBER;
	case COLUMN_HASH:
		return TYPE_BYTES;
	case COLUMN_TEXT:
	case COLUMN_SECRET:
	case COLUMN_FILTER:
	case COLUMN_CHOICE:
	case COLUMN_END:
		break;
	}
	return TYPE_TEXT;
}

/* PostgreSQL refuses invalid UTF-8, such as a message cut at its size limit: then each non-ASCII
 * byte becomes a question mark. */
static const char *clean_utf8(struct arena *a, const char *text)
{
	char *copy;

	if (span_is_utf8(span_of(text)))
		return text;
	copy = arena_text(a, text);
	for (char *at = copy; *at; at++)
		if ((unsigned char)*at >= 0x80)
			*at = '?';
	return copy;
}

static const char *bind_column(const struct store *s, struct arena *a, const struct column *column,
                               const void *takes)
{
	const void *member = (const char *)takes + column->offset;
	const char *const *text = member;

	switch (column->kind) {
	case COLUMN_TEXT:
		return *text ? clean_utf8(a, *text) : "";
	case COLUMN_SECRET:
		return clean_utf8(a, secret_close(s, a, column, takes));
	case COLUMN_FILTER:
		return *text ? clean_utf8(a, *text) : NULL;
	case COLUMN_WHOLE:
		return arena_format(a, "%" PRId64, *(const int64_t *)member);
	case COLUMN_NUMBER:
		return arena_format(a, "%.17g", *(const double *)member);
	case COLUMN_BOOL:
		return *(const bool *)member ? "1" : "0";
	case COLUMN_CHOICE:
		return column->word(*(const unsigned *)member);
	case COLUMN_HASH:
		return member;
	case COLUMN_END:
		break;
	}
	return NULL;
}

void values_bind(const struct store *s, struct values *v, const struct query_plan *plan,
                 const void *takes)
{
	for (int i = 0; i < plan->parameters; i++) {
		bool is_hash = plan->takes[i]->kind == COLUMN_HASH;

		v->texts[i] = bind_column(s, &v->arena, plan->takes[i], takes);
		v->sizes[i] = is_hash ? COLUMN_HASH_SIZE : 0;
		v->formats[i] = is_hash ? FORMAT_BINARY : FORMAT_TEXT;
	}
}

/* PostgreSQL writes booleans as 't' or 'f', SQLite as 1 or 0. */
static int64_t read_whole(const char *text)
{
	return *text == 't' ? 1 : strtoll(text, NULL, 10);
}

/* "\x0123…" */
static int read_hash(struct span text, unsigned char *ret, struct error *err)
{
	if (text.size < 2 ||
	    hex_decode((struct span){text.data + 2, text.size - 2}, ret, COLUMN_HASH_SIZE) < 0)
		return FAIL(err, ERROR_SYSTEM, "the database holds a hash that is none");
	return 0;
}

static int read_column(struct span text, const struct column *column, struct arena *a, void *item,
                       struct error *err)
{
	void *member = (char *)item + column->offset;

	switch (column->kind) {
	case COLUMN_TEXT:
	case COLUMN_SECRET:
	case COLUMN_FILTER:
		*(const char **)member = arena_copy(a, text);
		return 0;
	case COLUMN_WHOLE:
		*(int64_t *)member = read_whole(text.data);
		return 0;
	case COLUMN_NUMBER:
		*(double *)member = strtod(text.data, NULL);
		return 0;
	case COLUMN_BOOL:
		*(bool *)member = read_whole(text.data) != 0;
		return 0;
	case COLUMN_CHOICE:
		return column_choose(column, text, member, err);
	case COLUMN_HASH:
		return read_hash(text, member, err);
	case COLUMN_END:
		break;
	}
	return FAIL(err, ERROR_SYSTEM, "column '%s' has no kind", column->name);
}

int values_read(const struct row_reading *reading, int row, struct rows *rows, struct error *err)
{
	const struct query_plan *plan = reading->plan;
	const PGresult *result = reading->result;
	void *item = rows_add(rows);

	for (int i = 0; i < plan->columns; i++) {
		/* libpq returns an empty text for NULL. */
		struct span text = {PQgetvalue(result, row, i),
		                    (size_t)PQgetlength(result, row, i)};

		if (read_column(text, plan->gives[i], rows->arena, item, err) < 0)
			return -1;
	}
	for (int i = 0; i < plan->columns; i++)
		if (plan->gives[i]->kind == COLUMN_SECRET)
			secret_open(reading->store, rows->arena, plan->gives[i], item);
	return 0;
}
