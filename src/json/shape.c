/* SPDX-License-Identifier: Apache-2.0 */
#include "json/shape.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>

#include "json/base64.h"
#include "json/time.h"

/* Whole numbers above it may have been rounded by the sender's JSON writer. */
#define EXACT_DOUBLE_MAX 9007199254740992.0
/* Bytes of the names in a hint, which has a few words beside them. */
#define NAMES_MAX (ERROR_HINT_MAX - 32)

/* The position of a value in the document; on the stack of the functions below. */
struct member_path {
	const struct member_path *parent;
	struct arena *arena;
	const struct json_member *member;
	const char *name; /* NULL for an item of a list */
	size_t index;
};

static void write_path(struct buf *out, const struct member_path *at)
{
	if (at->parent)
		write_path(out, at->parent);
	if (at->name)
		buf_addf(out, "%s%s", out->size > 0 ? "." : "", at->name);
	else
		buf_addf(out, "[%zu]", at->index);
}

static const struct {
	const char *what, *unit; /* unit NULL: the bounds are of the value itself */
} nouns[] = {
        [JSON_TEXT] = {"text", "bytes"},
        [JSON_BYTES] = {"base64 text", "bytes"},
        [JSON_WHOLE] = {"a whole number", NULL},
        [JSON_NUMBER] = {"a number", NULL},
        [JSON_BOOL] = {"true or false", NULL},
        [JSON_CHOICE] = {"one of", NULL},
        [JSON_TEXT_LIST] = {"a list of texts", "items"},
        [JSON_TEXT_MAP] = {"an object of texts", "members"},
        [JSON_OBJECT] = {"an object", NULL},
        [JSON_LIST] = {"a list of objects", "items"},
        [JSON_RAW] = {"any value", NULL},
        [JSON_TIME] = {"an RFC 3339 time such as 2026-01-31T12:00:00Z", NULL},
};

static void describe_sizes(struct buf *out, const struct json_member *m)
{
	const char *unit = nouns[m->kind].unit;

	if (m->min > 0 && m->max > 0)
		buf_addf(out, " of %lld to %lld %s", (long long)m->min, (long long)m->max, unit);
	else if (m->max > 0)
		buf_addf(out, " of at most %lld %s", (long long)m->max, unit);
	else if (m->min > 0)
		buf_addf(out, " of at least %lld %s", (long long)m->min, unit);
}

static void describe_bounds(struct buf *out, const struct json_member *m)
{
	if (m->max != 0)
		buf_addf(out, " between %lld and %lld", (long long)m->min, (long long)m->max);
	else if (m->min != INT64_MIN)
		buf_addf(out, " of at least %lld", (long long)m->min);
}

void shape_describe(struct buf *out, const struct json_member *m)
{
	buf_add_text(out, nouns[m->kind].what);
	if (nouns[m->kind].unit)
		describe_sizes(out, m);
	if (m->kind == JSON_WHOLE || m->kind == JSON_NUMBER)
		describe_bounds(out, m);
	for (size_t i = 0; m->kind == JSON_CHOICE && m->choices[i]; i++)
		buf_addf(out, "%s%s", i > 0 ? ", " : " ", m->choices[i]);
}

static int fail_member(const struct member_path *at, const char *text, struct error *err)
{
	AUTO(buf_done) struct buf path = BUF(ERROR_TEXT_MAX / 2);

	write_path(&path, at);
	return FAIL(err, ERROR_INVALID, "%s: %s", buf_text(&path), text);
}

static int fail_expected(const struct member_path *at, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(ERROR_TEXT_MAX);

	buf_add_text(&text, "expected ");
	shape_describe(&text, at->member);
	return fail_member(at, buf_text(&text), err);
}

static int fail_unknown_at(const struct json_shape *shape, const struct member_path *at,
                           struct error *err)
{
	AUTO(buf_done) struct buf names = BUF(NAMES_MAX), meant = BUF(NAMES_MAX);

	(void)fail_member(at, "unknown member", err);
	if (at->parent)
		write_path(&meant, at->parent);
	if (shape_find_meant(shape, at->name, &meant))
		return FAIL_HINT(err, "did you mean '%s'?", buf_text(&meant));
	for (const struct json_member *m = shape->members; m < json_shape_end(shape); m++)
		buf_addf(&names, "%s%s", names.size > 0 ? ", " : "", json_member_name(m));
	return FAIL_HINT(err, "known here: %s%s", buf_text(&names), names.overflowed ? ", …" : "");
}

int shape_fail_unknown(const struct json_shape *shape, const char *name, struct error *err)
{
	return fail_unknown_at(shape, &(struct member_path){.name = name}, err);
}

static bool is_within(const struct json_member *m, size_t count)
{
	return count >= (uint64_t)(m->min > 0 ? m->min : 0) &&
	       (m->max == 0 || count <= (uint64_t)m->max);
}

static int read_text(const struct member_path *at, const struct json_value *v, void *slot,
                     struct error *err)
{
	if (v->kind != TREE_TEXT || !is_within(at->member, v->text.size))
		return fail_expected(at, err);
	*(const char **)slot = v->text.data;
	return 0;
}

static int read_bytes(const struct member_path *at, const struct json_value *v, void *slot,
                      struct error *err)
{
	struct span bytes;

	if (v->kind != TREE_TEXT || !base64_decode(at->arena, v->text, &bytes) ||
	    !is_within(at->member, bytes.size))
		return fail_expected(at, err);
	*(struct span *)slot = bytes;
	return 0;
}

static int read_whole(const struct member_path *at, const struct json_value *v, void *slot,
                      struct error *err)
{
	const struct json_member *m = at->member;
	int64_t whole;

	/* Some JSON writers have a single number type and write 5.0. */
	if (v->kind == TREE_WHOLE)
		whole = v->whole;
	else if (v->kind == TREE_NUMBER && fabs(v->number) < EXACT_DOUBLE_MAX &&
	         trunc(v->number) >= v->number && trunc(v->number) <= v->number)
		whole = (int64_t)v->number;
	else
		return fail_expected(at, err);
	if (whole < m->min || (m->max != 0 && whole > m->max))
		return fail_expected(at, err);
	*(int64_t *)slot = whole;
	return 0;
}

static int read_number(const struct member_path *at, const struct json_value *v, void *slot,
                       struct error *err)
{
	const struct json_member *m = at->member;
	double number = json_number(v, NAN);

	if (!isfinite(number) || number < (double)m->min ||
	    (m->max != 0 && number > (double)m->max))
		return fail_expected(at, err);
	*(double *)slot = number;
	return 0;
}

static int read_bool(const struct member_path *at, const struct json_value *v, void *slot,
                     struct error *err)
{
	if (v->kind != TREE_BOOL)
		return fail_expected(at, err);
	*(bool *)slot = v->truth;
	return 0;
}

static int read_choice(const struct member_path *at, const struct json_value *v, void *slot,
                       struct error *err)
{
	const char *const *choices = at->member->choices;

	for (int i = 0; v->kind == TREE_TEXT && choices[i]; i++) {
		if (strcmp(choices[i], v->text.data) == 0) {
			*(int *)slot = i;
			return 0;
		}
	}
	return fail_expected(at, err);
}

static int read_text_list(const struct member_path *at, const struct json_value *v, void *slot,
                          struct error *err)
{
	const char **texts;

	if (v->kind != TREE_LIST || !is_within(at->member, v->count))
		return fail_expected(at, err);
	texts = ARENA_ARRAY(at->arena, const char *, v->count + 1);
	for (size_t i = 0; i < v->count; i++) {
		if (v->items[i].kind != TREE_TEXT)
			return fail_member(&(struct member_path){.parent = at, .index = i},
			                   "expected text", err);
		texts[i] = v->items[i].text.data;
	}
	*(const char ***)slot = texts;
	return 0;
}

static int read_text_map(const struct member_path *at, const struct json_value *v, void *slot,
                         struct error *err)
{
	struct json_map *map = slot;

	if (v->kind != TREE_OBJECT || !is_within(at->member, v->count))
		return fail_expected(at, err);
	map->present = true;
	map->pairs = ARENA_ARRAY(at->arena, struct json_pair, v->count);
	for (size_t i = 0; i < v->count; i++) {
		if (v->items[i].kind != TREE_TEXT)
			return fail_member(&(struct member_path){.parent = at, .name = v->keys[i]},
			                   "expected text", err);
		map->pairs[i] = (struct json_pair){v->keys[i], v->items[i].text.data};
	}
	map->count = v->count;
	return 0;
}

/* The next letter of a name in either spelling, as if it were snake_case: of "memoryMb", after
 * "memory", an underscore. `at` points into the name, `is_inside` that a capital is half read. */
static char next_letter(const char **at, bool *is_inside)
{
	unsigned char c = (unsigned char)**at;

	if (isupper(c) && !*is_inside) {
		*is_inside = true;
		return '_';
	}
	*is_inside = false;
	if (c)
		(*at)++;
	return (char)tolower(c);
}

static bool is_other_spelling(const char *name, const char *other)
{
	bool in_name = false, in_other = false;
	char c;

	do {
		c = next_letter(&name, &in_name);
		if (c != next_letter(&other, &in_other))
			return false;
	} while (c);
	return true;
}

/* Clients of other services write camelCase names for our snake_case members, and reverse: both
 * spellings are accepted, except in open shapes. */
const struct json_member *shape_find_spelled(const struct json_shape *shape, const char *name)
{
	const struct json_member *m = shape_find(shape, name);

	if (m || shape->is_open)
		return m;
	for (m = shape->members; m < json_shape_end(shape); m++)
		if (is_other_spelling(json_member_name(m), name))
			return m;
	return NULL;
}

static bool is_spelled_before(const struct json_shape *shape, const struct json_member *m)
{
	for (const struct json_member *before = shape->members; before < m; before++)
		if (is_other_spelling(json_member_name(before), json_member_name(m)))
			return true;
	return false;
}

const struct json_member *json_shape_duplicate(const struct json_shape *shape)
{
	for (const struct json_member *m = shape->members; m < json_shape_end(shape); m++) {
		const struct json_member *nested = m->of ? json_shape_duplicate(m->of) : NULL;

		if (nested)
			return nested;
		if (!shape->is_open && is_spelled_before(shape, m))
			return m;
	}
	return NULL;
}

/* A member that appears in both spellings must have equal values. */
static int check_duplicate(const struct member_path *at, const struct json_value *from,
                           size_t index, struct error *err)
{
	AUTO(buf_done) struct buf before = BUF(SIZE_MAX), now = BUF(SIZE_MAX);
	const char *name = json_member_name(at->member);
	size_t first = 0;

	while (strcmp(from->keys[first], name) != 0 && !is_other_spelling(name, from->keys[first]))
		first++;
	json_print(&before, &from->items[first], 0);
	json_print(&now, &from->items[index], 0);
	if (span_equals(buf_span(&before), buf_span(&now)))
		return 0;
	(void)fail_member(at, "is something else than in its other spelling", err);
	return FAIL_HINT(err, "give %s alone", name);
}

static int read_members(const struct member_path *at, const struct json_value *from,
                        const struct json_shape *shape, void *out, struct error *err);

static int read_object(const struct member_path *at, const struct json_value *v, void *slot,
                       struct error *err)
{
	if (v->kind != TREE_OBJECT)
		return fail_expected(at, err);
	return read_members(at, v, at->member->of, slot, err);
}

static int read_list(const struct member_path *at, const struct json_value *v, void *slot,
                     struct error *err)
{
	const struct json_shape *of = at->member->of;
	struct json_list *list = slot;

	if (v->kind != TREE_LIST || !is_within(at->member, v->count))
		return fail_expected(at, err);
	list->present = true;
	list->items = arena_alloc(at->arena, v->count * of->size);
	for (size_t i = 0; i < v->count; i++) {
		struct member_path item = {.parent = at, .arena = at->arena, .index = i};

		if (v->items[i].kind != TREE_OBJECT)
			return fail_member(&item, "expected an object", err);
		if (read_members(&item, &v->items[i], of, (char *)list->items + i * of->size, err) <
		    0)
			return -1;
	}
	list->count = v->count;
	return 0;
}

static int read_raw(const struct member_path *at, const struct json_value *v, void *slot,
                    UNUSED struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(SIZE_MAX);

	json_print(&text, v, 0);
	*(struct span *)slot = (struct span){arena_copy(at->arena, buf_span(&text)), text.size};
	return 0;
}

static int read_time(const struct member_path *at, const struct json_value *v, void *slot,
                     struct error *err)
{
	int64_t ms;

	if (v->kind != TREE_TEXT || !time_parse(v->text, &ms))
		return fail_expected(at, err);
	*(int64_t *)slot = ms;
	return 0;
}

static int (*const readers[])(const struct member_path *at, const struct json_value *v, void *slot,
                              struct error *err) = {
        [JSON_TEXT] = read_text,
        [JSON_BYTES] = read_bytes,
        [JSON_WHOLE] = read_whole,
        [JSON_NUMBER] = read_number,
        [JSON_BOOL] = read_bool,
        [JSON_CHOICE] = read_choice,
        [JSON_TEXT_LIST] = read_text_list,
        [JSON_TEXT_MAP] = read_text_map,
        [JSON_OBJECT] = read_object,
        [JSON_LIST] = read_list,
        [JSON_RAW] = read_raw,
        [JSON_TIME] = read_time,
};

/* A null that is allowed means absent, except where it is a value like any other. */
static bool is_absent(const struct json_shape *shape, const struct json_member *m,
                      const struct json_value *v)
{
	return v->kind == TREE_NULL &&
	       (shape->is_open || m->flags & JSON_NULLABLE || m->kind == JSON_TIME) &&
	       m->kind != JSON_RAW;
}

static int check_required(const struct member_path *at, const struct json_shape *shape,
                          uint64_t named, struct error *err)
{
	assert(shape->member_count <= 64); /* one bit per row, here and at present_offset */
	for (size_t i = 0; i < shape->member_count; i++) {
		const struct json_member *m = &shape->members[i];
		struct member_path missing = {
		        .parent = at, .member = m, .name = json_member_name(m)};

		if (m->flags & JSON_REQUIRED && !(named & UINT64_C(1) << i))
			return fail_member(&missing, "required", err);
	}
	return 0;
}

static int read_members(const struct member_path *at, const struct json_value *from,
                        const struct json_shape *shape, void *out, struct error *err)
{
	uint64_t named = 0, present = 0;

	for (size_t i = 0; i < from->count; i++) {
		const struct json_member *m = shape_find_spelled(shape, from->keys[i]);
		struct member_path here = {.parent = at, .member = m, .name = from->keys[i]};
		uint64_t bit;

		here.arena = at->arena;
		if (!m && shape->is_open)
			continue;
		if (!m)
			return fail_unknown_at(shape, &here, err);
		bit = UINT64_C(1) << (m - shape->members);
		if (named & bit && check_duplicate(&here, from, i, err) < 0)
			return -1;
		named |= bit;
		if (is_absent(shape, m, &from->items[i]))
			continue;
		present |= bit;
		if (readers[m->kind](&here, &from->items[i], shape_slot(m, out), err) < 0)
			return -1;
	}
	if (shape->present_offset != SIZE_MAX)
		memcpy((char *)out + shape->present_offset, &present, sizeof(present));
	return check_required(at, shape, named, err);
}

const struct json_member *shape_find(const struct json_shape *shape, const char *name)
{
	for (const struct json_member *m = shape->members; m < json_shape_end(shape); m++) {
		if (strcmp(json_member_name(m), name) == 0)
			return m;
	}
	return NULL;
}

int shape_read(struct arena *a, const struct json_value *from, const struct json_shape *shape,
               void *out, struct error *err)
{
	/* The outermost place has an empty name, which leaves no trace in a path. */
	memset(out, 0, shape->size);
	return read_members(&(struct member_path){.arena = a, .name = ""}, from, shape, out, err);
}

int json_parse(struct arena *a, struct span text, const struct json_shape *shape, void *out,
               struct error *err)
{
	struct json_value root = {.kind = TREE_OBJECT};

	if (text.size > 0 && tree_parse(a, text, &root, err) < 0)
		return -1;
	if (root.kind != TREE_OBJECT)
		return FAIL(err, ERROR_INVALID, "expected a JSON object");
	return shape_read(a, &root, shape, out, err);
}
