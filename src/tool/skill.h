/* SPDX-License-Identifier: Apache-2.0 */
/* tool/skill.h — skills: bundles of files with a SKILL.md, kept by the project, that load_skill
 * puts into a workspace. Pure rules; store/skills.h keeps them. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "json/json.h"

#define SKILL_NAME_MAX 64
#define SKILL_FILES_MAX 200
#define SKILL_SIZE_MAX (2 << 20)

struct skill_file {
	const char *path;
	struct span content;
};
struct skill_bundle {
	struct json_list files;
};
extern const struct json_shape skill_file_shape, skill_bundle_shape;

MUST_CHECK int skill_name_check(const char *name, struct error *err);
/* Paths stay inside, are there once, and one of them is SKILL.md. */
MUST_CHECK int skill_bundle_check(struct arena *a, const struct skill_bundle *bundle,
                                  int64_t *ret_size, struct error *err);
