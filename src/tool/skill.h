/* SPDX-License-Identifier: Apache-2.0 */
/* tool/skill.h — skills: bundles of files with a SKILL.md, stored by the project. load_skill copies
 * a bundle into a workspace. Pure rules; store/skills.h stores the bundles. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
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
/* Paths must stay inside the bundle and be unique, and one of them must be SKILL.md. */
MUST_CHECK int skill_bundle_check(struct arena *a, const struct skill_bundle *bundle,
                                  int64_t *ret_size, struct error *err);
