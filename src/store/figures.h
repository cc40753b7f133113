/* SPDX-License-Identifier: Apache-2.0 */
/* store/figures.h — sizes and counts that lists show beside the objects of a project. Each kind is
 * one query for all objects of the project. Any worker. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct store;

enum store_figure {
	FIGURE_VOLUME_BYTES, /* bytes: as last measured */
	FIGURE_SNAPSHOT_BYTES,
	FIGURE_SNAPSHOT_SANDBOXES, /* made of the snapshot, and not deleted or failed */
	FIGURE_TEMPLATE_SANDBOXES,
	FIGURE_COUNT,
};
struct figure_record {
	const char *id;
	int64_t value;
};
struct figure_list {
	struct figure_record *items; /* by id */
	size_t count;
};
MUST_CHECK int store_figures(struct store *s, struct arena *a, enum store_figure figure,
                             const char *project_id, struct figure_list *ret, struct error *err);
/* The value of the object; `otherwise` if the list has none. */
int64_t figure_of(const struct figure_list *list, const char *id, int64_t otherwise);
