/* SPDX-License-Identifier: Apache-2.0 */
/* surface/e2b/steps.h — E2B's steps of a template as steps of a build. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct build_spec;
struct e2b_announced_build;
struct json_list;
struct json_shape;

struct e2b_step {
	const char *type;
	const char **args;
	const char *files_hash;
	bool force;
};
extern const struct json_shape e2b_step_shape;

/* Fills spec->steps and build->step_of. */
MUST_CHECK int e2b_steps_read(struct arena *a, const struct json_list *steps,
                              struct build_spec *spec, struct e2b_announced_build *build,
                              struct error *err);
/* Appends a step that runs `ready` until it succeeds, for at most one minute; for templates that
 * start no program. If the image has timeout(1), each
 * try is killed after 30 seconds. */
void e2b_steps_add_ready(struct arena *a, const char *ready, struct build_spec *spec);
