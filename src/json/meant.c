/* SPDX-License-Identifier: Apache-2.0 */
/* The member that the sender of an unknown one probably meant. */
#include <string.h>

#include "base/nearest.h"
#include "json/shape.h"

#define DEPTH_MAX 3 /* resources.cpu has two */

struct meant_search {
	struct nearest nearest;
	const struct json_member *path[DEPTH_MAX]; /* of nearest.found, from outside to inside */
	size_t depth;
	const struct json_member *at[DEPTH_MAX]; /* where the search is */
};

/* "memory" of "memory_mb": other services have the same quantity in another unit. */
static bool lacks_unit(const struct json_member *m, struct span name)
{
	const char *full = json_member_name(m), *unit = strrchr(full, '_');

	return (m->kind == JSON_WHOLE || m->kind == JSON_NUMBER) && unit &&
	       span_equals(name, (struct span){full, (size_t)(unit - full)});
}

static void offer_member(struct meant_search *s, size_t depth)
{
	const struct json_member *m = s->at[depth];
	const char *before = s->nearest.found, *name = json_member_name(m);

	if (!before || s->nearest.edits > 0) {
		if (lacks_unit(m, s->nearest.name))
			s->nearest = (struct nearest){s->nearest.name, name, 0};
		else
			nearest_offer(&s->nearest, name);
	}
	if (s->nearest.found == before)
		return;
	memcpy(s->path, s->at, sizeof(s->path));
	s->depth = depth + 1;
}

/* The members of an object come after the object's neighbours, which win if they are as near. The
 * items of a list are no place for a single value. */
static void offer_members(struct meant_search *s, const struct json_shape *shape, size_t depth)
{
	for (const struct json_member *m = shape->members; m < json_shape_end(shape); m++) {
		s->at[depth] = m;
		offer_member(s, depth);
	}
	if (depth + 1 == DEPTH_MAX)
		return;
	for (const struct json_member *m = shape->members; m < json_shape_end(shape); m++) {
		s->at[depth] = m;
		if (m->kind == JSON_OBJECT && !m->of->is_open)
			offer_members(s, m->of, depth + 1);
	}
}

bool shape_find_meant(const struct json_shape *shape, const char *name, struct buf *out)
{
	struct meant_search s = {.nearest.name = span_of(name)};

	offer_members(&s, shape, 0);
	for (size_t i = 0; i < s.depth; i++)
		buf_addf(out, "%s%s", out->size > 0 ? "." : "", json_member_name(s.path[i]));
	return s.depth > 0;
}
