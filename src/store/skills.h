/* SPDX-License-Identifier: Apache-2.0 */
/* store/skills.h — skills: bundles of files that agents load into their workspace. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

#define STORE_SKILLS_MAX 100 /* per project */

struct skill_record {
	const char *id, *project_id;
	const char *name; /* unique in the project */
	const char *description;
	const char *files_json; /* [{"path":…,"content":base64}]; "" in a list */
	int64_t file_count, size_bytes, updated_at;
};
struct skill_list {
	struct skill_record *items;
	size_t count;
};
/* Inserts the skill, or replaces it as a whole. ERROR_LIMIT when the project has STORE_SKILLS_MAX
 * others. */
MUST_CHECK int store_skill_put(struct store *s, const struct skill_record *r, struct error *err);
MUST_CHECK int store_skill_find(struct store *s, struct arena *a, const char *project_id,
                                const char *name, struct skill_record *ret, struct error *err);
/* Sorted by name. */
MUST_CHECK int store_skill_list(struct store *s, struct arena *a, const char *project_id,
                                struct skill_list *ret, struct error *err);
MUST_CHECK int store_skill_remove(struct store *s, const char *project_id, const char *name,
                                  struct error *err);
