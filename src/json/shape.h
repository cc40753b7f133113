/* SPDX-License-Identifier: Apache-2.0 */
/* json/shape.h — fills a struct from a tree, by its shape. */
#pragma once

#include "json/json.h"
#include "json/tree.h"

/* Zeroes `out` first; `from` must be an object. */
MUST_CHECK int shape_read(struct arena *a, const struct json_value *from,
                          const struct json_shape *shape, void *out, struct error *err);
/* The row with that name, or NULL. */
const struct json_member *shape_find(const struct json_shape *shape, const char *name);
/* The same in either spelling, memory_mb or memoryMb; an open shape has one. */
const struct json_member *shape_find_spelled(const struct json_shape *shape, const char *name);
/* Appends a description of the accepted values: "a number between 0 and 1024". */
void shape_describe(struct buf *out, const struct json_member *member);
/* Appends the path of the member that `name` probably means, ".resources.cpu" if `out` has text
 * already; false if there is none. */
bool shape_find_meant(const struct json_shape *shape, const char *name, struct buf *out);
/* Fails with "NAME: unknown member"; the hint is the member that was meant, or all names. */
MUST_CHECK int shape_fail_unknown(const struct json_shape *shape, const char *name,
                                  struct error *err);

static inline void *shape_slot(const struct json_member *member, void *base)
{
	return (char *)base + member->offset;
}
static inline const void *shape_const_slot(const struct json_member *member, const void *base)
{
	return (const char *)base + member->offset;
}
